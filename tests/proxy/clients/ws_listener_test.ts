/** The port for WebSockets alone, under a clock that a test moves. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
// @ts-types="@types/ws"
import { WebSocket as WsClient } from "ws";
import { callerAddress } from "../../../lib/http/caller_address.ts";
import { OutgoingMessage } from "../../../services/proxy/hub/notifications.ts";
import type { ClientSocket } from "../../../services/proxy/clients/client_queue.ts";
import { PONGS_WAITING_MAX } from "../../../services/proxy/clients/client_sockets.ts";
import { HANDSHAKE_MS, WsListener } from "../../../services/proxy/clients/ws_listener.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { deafClient } from "../support.ts";
import { handshakeText, WEBSOCKET_KEY } from "../../support/rpc_socket.ts";

const IDLE_MS = 30_000;

interface Scene {
  clock: FakeClock;
  url: string;
  listener: WsListener;
  /** Connections refused for the number of their peer. */
  refusals: () => number;
  /** Connections accepted, with the addresses of their handshakes. */
  accepted: { socket: ClientSocket; forwardedFor: string; texts: string[]; gone: boolean }[];
}

async function withListener(
  play: (scene: Scene) => Promise<void>,
  maxMessageBytes = 1_024,
): Promise<void> {
  const clock = new FakeClock();
  const accepted: Scene["accepted"] = [];
  let refusals = 0;
  const listener = await WsListener.start({
    host: "127.0.0.1",
    port: 0,
    clock,
    maxMessageBytes,
    maxHandshakesPerPeer: 3,
    onRefusal: () => refusals += 1,
    clients: {
      admit: (headers, remote) => {
        if (!headers.has("x-refused")) return callerAddress(headers, remote, true);
        return new Response("€", { status: 403, headers: { "content-type": "x/y" } });
      },
      serve: (socket, { forwardedFor }) => {
        const entry = { socket, forwardedFor, texts: [] as string[], gone: false };
        socket.listen({
          onText: (text) => entry.texts.push(text),
          onUnfinished() {},
          onTooLarge() {},
          onDrain() {},
          onClosed: () => entry.gone = true,
        });
        accepted.push(entry);
      },
    },
  });
  try {
    const refused = () => refusals;
    await play({
      clock,
      listener,
      accepted,
      refusals: refused,
      url: `ws://127.0.0.1:${listener.port}/ws`,
    });
  } finally {
    await listener.stop();
    assert.equal(clock.pending, 0, "A timer was left behind");
  }
}

Deno.test("WsListener: disconnects only a client that answers no ping for 30 s", () =>
  withListener(async ({ clock, url, accepted }) => {
    const deaf = await deafClient(url);
    const live = new WsClient(url, { headers: { "x-test": "live" } });
    await once(live, "open");
    const [first, second] = accepted;
    assert(first && second);
    for (let round = 1; round <= 3; round += 1) {
      // Its pong is sent before this, and so has been read when this has been.
      live.once("ping", () => live.send("pinged"));
      clock.advance(IDLE_MS);
      await eventually("the live one", () => second.texts.length === round);
      if (round === 1) assert.equal(first.gone, false, "it was asked only now");
      else await eventually("the deaf one's end", () => first.gone);
    }
    assert.equal(second.gone, false);
    live.close();
    await eventually("its end", () => second.gone);
    deaf.close();
  }));

Deno.test("WsListener: each of many pings is answered once to a client that reads", () =>
  withListener(async ({ url, accepted }) => {
    const client = new WsClient(url);
    await once(client, "open");
    const pongs: string[] = [];
    client.on("pong", (data) => pongs.push(data.toString()));
    const pings = Array.from(
      { length: 3 * PONGS_WAITING_MAX },
      (_, n) => n % 2 === 0 ? "" : `${n}`,
    );
    for (const data of pings) {
      const answer = once(client, "pong");
      client.ping(data);
      await answer;
    }
    const last = once(client, "message");
    accepted[0]?.socket.write([new OutgoingMessage("last")]);
    await last;
    assert.deepEqual(pongs, pings);
    client.close();
    await eventually("its end", () => accepted[0]?.gone);
  }));

Deno.test("WsListener: passes repeated headers on, and accepts one of any name", () =>
  withListener(async ({ listener, accepted }) => {
    const forwarded = ["10.0.0.1", "10.0.0.2"].map((address) => `X-Forwarded-For: ${address}`);
    for (const name of ["constructor", "__proto__", "toString"]) {
      const headers = [WEBSOCKET_KEY, `${name}: x`, ...forwarded];
      const client = rawClient(listener.port, handshakeText("http://localhost/ws", ...headers));
      await eventually(name, () => accepted.length === 1);
      assert.equal(accepted[0]?.forwardedFor, "10.0.0.1, 10.0.0.2, 127.0.0.1");
      client.tcp.destroy();
      await eventually("its end", () => accepted[0]?.gone);
      accepted.length = 0;
    }
  }));

const HANDSHAKE = handshakeText("http://localhost/ws", WEBSOCKET_KEY);

/** A connection that sends a text, and the bytes that it received until its end. */
function rawClient(port: number, request = "") {
  const tcp: Socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  tcp.setEncoding("utf8").on("data", (piece: string) => text += piece).on("error", () => {});
  if (request !== "") tcp.write(request);
  const ended = once(tcp, "close").then(() => text);
  return { tcp, ended, text: () => text };
}

Deno.test("WsListener: a refused handshake gets an HTTP answer and the connection ends", () =>
  withListener(async ({ listener, accepted }) => {
    const text = await rawClient(
      listener.port,
      handshakeText("http://localhost/ws", WEBSOCKET_KEY, "x-refused: 1"),
    ).ended;
    const [head = "", body] = text.split("\r\n\r\n");
    assert.match(head, /^HTTP\/1\.1 403 /);
    const lines = head.toLowerCase().split("\r\n");
    assert.deepEqual(lines.slice(1), [
      "connection: close",
      "content-type: x/y",
      "content-length: 3",
    ]);
    assert.deepEqual([body, accepted.length], ["€", 0]);
  }));

Deno.test("WsListener: accepts handshakes on /ws and /, and answers 404 on other paths", () =>
  withListener(async ({ listener, accepted }) => {
    const ask = (path: string) =>
      rawClient(listener.port, HANDSHAKE.replace("GET /ws ", `GET ${path} `));
    for (const path of ["/other", "/ws/", "/wsx?/ws", "//ws"]) {
      const text = await ask(path).ended;
      assert.match(text, /^HTTP\/1\.1 404 [^]*"code":"NOT_FOUND"/, path);
    }
    assert.equal(accepted.length, 0);
    for (const path of ["/", "/ws", "/?a=b", "/ws?/other"]) {
      const client = ask(path);
      await eventually(path, () => accepted.length === 1);
      client.tcp.destroy();
      await eventually("its end", () => accepted[0]?.gone);
      accepted.length = 0;
    }
  }));

Deno.test("WsListener: limits a peer's unfinished handshakes in number, and each to ten seconds", () =>
  withListener(async ({ clock, listener, accepted, refusals }) => {
    const open = [1, 2, 3].map(() => rawClient(listener.port));
    await Promise.all(open.map(({ tcp }) => once(tcp, "connect")));
    const fourth = rawClient(listener.port, HANDSHAKE);
    assert.equal(await fourth.ended, "");
    assert.deepEqual([refusals(), accepted.length], [1, 0]);
    const [first, second, third] = open;
    first!.tcp.write(HANDSHAKE);
    await eventually("the first one's handshake", () => accepted.length);
    const next = rawClient(listener.port, HANDSHAKE);
    await eventually("the next one's handshake", () => accepted.length === 2);
    assert.equal(refusals(), 1, "a WebSocket does not count");
    second!.tcp.destroy();
    clock.advance(HANDSHAKE_MS - 1);
    assert.equal(third!.tcp.closed, false);
    clock.advance(1);
    await Promise.all([second!.ended, third!.ended]);
    assert.deepEqual(accepted.map(({ gone }) => gone), [false, false]);
    for (const { tcp } of [first!, next]) tcp.destroy();
    await eventually("their end", () => accepted.every(({ gone }) => gone));
  }));

Deno.test("WsListener: a closed WebSocket does not change the count of unfinished handshakes", () =>
  withListener(async ({ listener, accepted, refusals }) => {
    const open = async () => {
      const client = rawClient(listener.port);
      await once(client.tcp, "connect");
      return client;
    };
    const pending = [await open()];
    for (const count of [1, 2]) {
      const client = rawClient(listener.port, HANDSHAKE);
      await eventually("its handshake", () => accepted.length === count);
      client.tcp.destroy();
      await eventually("its end", () => accepted.every(({ gone }) => gone));
    }
    pending.push(await open(), await open());
    assert.equal(await rawClient(listener.port, HANDSHAKE).ended, "");
    assert.deepEqual([refusals(), accepted.length], [1, 2]);
    for (const { tcp } of pending) tcp.destroy();
  }));
