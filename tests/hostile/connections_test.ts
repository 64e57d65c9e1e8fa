/** Callers that open, hold and misuse connections. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { eventually } from "../support/eventually.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { echoAnswer } from "../proxy/echo_node.ts";
import { BOTH_PORTS, call, post, withProxy } from "../proxy/support.ts";
import { readSeries } from "../support/metrics.ts";
import { AddressedClient, HonestClient } from "./honest_client.ts";

const LIMIT = 20;

Deno.test.each(BOTH_PORTS)(
  "Hostile: an address gets --max-connections-per-address WebSocket clients and no more (%s)",
  (_port, withProxy) =>
    withProxy(async (scene) => {
      const { url, wsUrl } = scene;
      const honest = await HonestClient.open(scene);
      const open = async (addressOf: (n: number) => string) => {
        const clients = [];
        for (let n = 0; n < 60; n += 1) {
          const client = await AddressedClient.open(wsUrl, addressOf(n));
          if (client !== undefined) clients.push(client);
        }
        return clients;
      };
      const attackers = await open(() => "198.51.100.1");
      assert.equal(attackers.length, LIMIT);
      // All addresses of an IPv6 /64 are one caller.
      const sameNetwork = await open((n) => `2001:db8::${n.toString(16)}`);
      assert.equal(sameNetwork.length, LIMIT);
      await honest.work();
      const refusals = 'proxy_refusals_total{limit="connections_per_address"}';
      assert.equal(await readSeries(url, refusals), 2 * (60 - LIMIT));
      await Promise.all([...attackers, ...sameNetwork].map((client) => client.close()));
      const again = await AddressedClient.open(wsUrl, "198.51.100.1") ??
        assert.fail("Not free again");
      await Promise.all([again.close(), honest.close()]);
    }, { proxy: { maxConnectionsPerAddress: LIMIT } }),
);

Deno.test.each(BOTH_PORTS)(
  "Hostile: a peer that invents an address for each client leaves room for others (%s)",
  (_port, withProxy) =>
    withProxy(async (scene) => {
      const attackers = [];
      for (let n = 0; n < 50; n += 1) {
        const client = await AddressedClient.open(scene.wsUrl, `198.51.100.${n}`);
        if (client !== undefined) attackers.push(client);
      }
      assert.equal(attackers.length, 27, "90 % of 30");
      const honest = await HonestClient.open(scene);
      await honest.work();
      await Promise.all([...attackers, honest].map((client) => client.close()));
    }, { proxy: { maxWsClients: 30 } }),
);

Deno.test("Hostile: an address gets --max-connections-per-address open requests and no more", () => {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const answer = async (text: string) => {
    if (text.includes("wait")) await promise;
    return echoAnswer(text);
  };
  return withProxy(async (scene) => {
    const { url, read } = scene;
    const from = { "x-forwarded-for": "198.51.100.1" };
    const statuses = Array.from({ length: 60 }, async (_, id) => {
      const response = await post(url, call(id, "core_getAccount", ["wait", id]), from);
      await response.text();
      return response.status;
    });
    await read.until(() => read.requests.length === LIMIT);
    const honest = await HonestClient.open(scene);
    await honest.work();
    await honest.close();
    release();
    const refused = (await Promise.all(statuses)).filter((status) => status === 429);
    assert.equal(refused.length, 60 - LIMIT);
    const again = await post(url, call(1, "core_getAccount"), from);
    assert.equal(again.status, 200, "its share is free again");
    await again.text();
  }, { proxy: { maxConnectionsPerAddress: LIMIT }, read: { answer } });
});

Deno.test("Hostile: 935 half-sent bodies of 17 callers take no open request from others", () =>
  withProxy(async (scene) => {
    const { hostname, port } = new URL(scene.url);
    const sockets = await Promise.all(Array.from({ length: 17 * 55 }, async (_, n) => {
      const socket = await Deno.connect({ hostname, port: Number(port) });
      const bytes = n % 2 === 0 ? 100 : 60_000; // those that the runtime reads, and those in chunks
      const head = `POST / HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: 198.51.100.${
        n % 17
      }\r\n`;
      await socket.write(new TextEncoder().encode(`${head}content-length: ${bytes}\r\n\r\n{`));
      return socket;
    }));
    await eventually("the bodies have begun", async () => {
      const bytes = await readSeries(scene.url, "proxy_buffered_bytes");
      return bytes === Math.floor(sockets.length / 2) || undefined;
    });
    const honest = await HonestClient.open(scene);
    await honest.work();
    for (const address of ["203.0.113.1", "198.51.100.1"]) {
      const answer = await post(scene.url, call(1, "core_getAccount"), {
        "x-forwarded-for": address,
      });
      assert.equal(answer.status, 200, address);
      await answer.text();
    }
    await honest.close();
    for (const socket of sockets) socket.close();
  }));

/** Writes bytes on a connection of its own. @returns What the server sent until its end. */
async function exchange(url: string, bytes: string | Uint8Array): Promise<Buffer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const pieces: Buffer[] = [];
  socket.on("data", (data: Buffer) => pieces.push(data));
  socket.on("error", () => {});
  socket.write(bytes);
  await once(socket, "close");
  return Buffer.concat(pieces);
}

Deno.test.each(BOTH_PORTS)(
  "Hostile: a malformed Host header is answered without a stack trace (%s)",
  (_port, withProxy) =>
    withProxy(async ({ url, wsUrl }) => {
      for (const host of ["[::", "a b", "%zz", "a:99999"]) {
        for (const base of [url, wsUrl]) {
          const answer = (await exchange(
            base.replace(/^ws/, "http"),
            `GET /ws HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n`,
          )).toString();
          assert.match(answer, /^HTTP\/1\.1 4\d\d /, host);
          assert(!/ at .*\.ts|TypeError/.test(answer), answer);
        }
        const health = await exchange(
          url,
          `GET /health HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
        );
        assert.match(health.toString(), /^HTTP\/1\.1 [24]\d\d /, host);
      }
    }),
);

/** The start of a client's text frame, with a length of eight bytes and a mask of zeros. */
function frameHeader(length: number): Uint8Array {
  const header = Buffer.alloc(14);
  header[0] = 0x81;
  header[1] = 0xff;
  header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

/** A connection after its handshake. */
async function rawSocket(wsUrl: string): Promise<Socket> {
  const { hostname, port } = new URL(wsUrl);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.write(
    "GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n" +
      "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  await once(socket, "data");
  return socket;
}

Deno.test("Hostile: on the WebSocket port a frame over the limit closes with 1009 at its declared length", () =>
  withProxy(async (scene) => {
    const honest = await HonestClient.open(scene);
    const socket = await rawSocket(scene.wsUrl);
    socket.write(frameHeader(4_097)); // and not a byte of it
    const [close] = await once(socket, "data");
    assert.deepEqual([close[0], close.readUInt16BE(2)], [0x88, 1009]);
    socket.destroy();
    const tiny = await rawSocket(scene.wsUrl);
    const fragments = Buffer.concat([
      Buffer.from([0x01, 0x80, 0, 0, 0, 0]),
      ...Array.from({ length: 1_100 }, () => Buffer.from([0x00, 0x81, 0, 0, 0, 0, 0x78])),
    ]);
    tiny.write(fragments);
    const [refusal] = await once(tiny, "data");
    assert.equal(refusal[0], 0x88, "a message in a thousand fragments is refused");
    tiny.destroy();
    await honest.work();
    const refusals = 'proxy_refusals_total{limit="message_bytes"}';
    assert.equal(await readSeries(scene.url, refusals), 2);
    await honest.close();
  }, { clientPort: "WebSocket port", proxy: { maxBodyBytes: 4_096 } }));

Deno.test.each(BOTH_PORTS)(
  "Hostile: a message over the limit closes its connection with 1009 (%s)",
  (_port, withProxy) =>
    withProxy(async (scene) => {
      const honest = await HonestClient.open(scene);
      const attacker = await RpcSocket.open(scene.wsUrl);
      attacker.send("x".repeat(4_097));
      assert.equal((await attacker.closed).code, 1009);
      await honest.work();
      await honest.close();
    }, { proxy: { maxBodyBytes: 4_096 } }),
);
