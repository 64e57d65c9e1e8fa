/** Callers that open, keep and misuse connections. */
import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { handshake, WEBSOCKET_KEY } from "../support/rpc_socket.ts";
import { readSeries, sendRaw } from "../support/http_answers.ts";
import { echoAnswer } from "../proxy/echo_node.ts";
import { BOTH_PORTS, call, frameHeader, post, postUnread, withProxy } from "../proxy/support.ts";
import { AddressedClient, HonestClient } from "./honest_client.ts";

const LIMIT = 20;

Deno.test.each(BOTH_PORTS)(
  "Hostile: an address gets at most --max-connections-per-address WebSocket clients (%s)",
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
  "Hostile: a peer that forges an address for each client cannot use up all places (%s)",
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

Deno.test("Hostile: an address gets at most --max-connections-per-address open requests", () => {
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

Deno.test("Hostile: 935 unfinished bodies of 17 callers do not use up open requests of others", () =>
  withProxy(async (scene) => {
    const sockets = await Promise.all(Array.from({ length: 17 * 55 }, (_, n) => {
      const bytes = n % 2 === 0 ? 100 : 60_000; // those that the runtime reads, and those in chunks
      return postUnread(scene.url, "{", { from: `198.51.100.${n % 17}`, bytes });
    }));
    await eventually("the bodies have begun", async () => {
      const bytes = await readSeries(scene.url, "proxy_buffered_bytes");
      return bytes === Math.floor(sockets.length / 2);
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

Deno.test.each(BOTH_PORTS)(
  "Hostile: a malformed Host header is answered without a stack trace (%s)",
  (_port, withProxy) =>
    withProxy(async ({ url, wsUrl }) => {
      for (const host of ["[::", "a b", "%zz", "a:99999"]) {
        const lines = [`Host: ${host}`, "Upgrade: websocket", "Connection: upgrade, close"];
        for (const base of [url, wsUrl]) {
          const { status, text } = await sendRaw(base, ["GET /ws HTTP/1.1", ...lines]);
          assert(status >= 400 && status < 500, text);
          assert(!/ at .*\.ts|TypeError/.test(text), text);
        }
        const health = [`Host: ${host}`, "Connection: close"];
        const { text } = await sendRaw(url, ["GET /health HTTP/1.1", ...health]);
        assert.match(text, /^HTTP\/1\.1 [24]\d\d /, host);
      }
    }),
);

Deno.test("Hostile: a frame over the limit is closed with 1009 as soon as its length is declared", () =>
  withProxy(async (scene) => {
    const honest = await HonestClient.open(scene);
    /** Sends bytes after a handshake. @returns The start of the answer. */
    const answerTo = async (bytes: Uint8Array<ArrayBuffer>) => {
      const [connection] = await handshake(scene.wsUrl, WEBSOCKET_KEY);
      await connection.write(bytes);
      const answer = new Uint8Array(4);
      await connection.read(answer);
      connection.close();
      return [...answer];
    };
    const close = [0x88, 2, 1009 >> 8, 1009 & 0xff];
    assert.deepEqual(await answerTo(frameHeader(4_097)), close); // and not a byte of it
    const fragments = [
      ...[0x01, 0x80, 0, 0, 0, 0],
      ...Array.from({ length: 1_100 }, () => [0x00, 0x81, 0, 0, 0, 0, 0x78]).flat(),
    ];
    const [refusal] = await answerTo(new Uint8Array(fragments));
    assert.equal(refusal, 0x88, "a message in a thousand fragments is refused");
    await honest.work();
    const refusals = 'proxy_refusals_total{limit="message_bytes"}';
    assert.equal(await readSeries(scene.url, refusals), 2);
    await honest.close();
  }, { clientPort: "WebSocket port", proxy: { maxBodyBytes: 4_096 } }));
