/** The port for WebSockets alone, under a clock that a test moves. */
import assert from "node:assert/strict";
import { once } from "node:events";
// @ts-types="@types/ws"
import { WebSocket as WsClient } from "ws";
import { OutgoingMessage } from "../../../services/proxy/hub/messages.ts";
import type { TcpConnection } from "../../../services/proxy/clients/client_connection.ts";
import { WsListener } from "../../../services/proxy/clients/ws_listener.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { deafClient } from "../deaf_client.ts";

const IDLE_MS = 30_000;

interface Scene {
  clock: FakeClock;
  url: string;
  listener: WsListener;
  /** Connections accepted, with the headers of their handshakes. */
  accepted: { connection: TcpConnection; headers: Headers; texts: string[]; gone: boolean }[];
}

async function withListener(play: (scene: Scene) => Promise<void>): Promise<void> {
  const clock = new FakeClock();
  const accepted: Scene["accepted"] = [];
  const listener = await WsListener.start({
    host: "127.0.0.1",
    port: 0,
    clock,
    maxMessageBytes: 1_024,
    maxHandshakesPerPeer: 3,
    refuse: () => undefined,
    accepted: (connection, headers) => {
      const entry = { connection, headers, texts: [] as string[], gone: false };
      connection.onText = (text) => entry.texts.push(text);
      connection.onGone = () => entry.gone = true;
      accepted.push(entry);
    },
  });
  try {
    await play({ clock, listener, accepted, url: `ws://127.0.0.1:${listener.port}/ws` });
  } finally {
    await listener.stop();
    assert.equal(clock.pending, 0, "A timer was left behind");
  }
}

Deno.test("WsListener: a client that gives no sign of life for half a minute is cut, one that does is kept", () =>
  withListener(async ({ clock, url, accepted }) => {
    const deaf = await deafClient(url);
    const live = new WsClient(url, { headers: { "x-test": "live" } });
    await once(live, "open");
    const [first, second] = accepted;
    assert(first && second);
    for (let round = 1; round <= 3; round += 1) {
      // Its pong leaves before this, so that it has been read once this has.
      live.once("ping", () => live.send("pinged"));
      clock.advance(IDLE_MS);
      await eventually("the live one", () => second.texts.length === round || undefined);
      if (round === 1) assert.equal(first.gone, false, "it was asked only now");
      else await eventually("the deaf one's end", () => first.gone || undefined);
    }
    assert.equal(second.gone, false);
    live.close();
    await eventually("its end", () => second.gone || undefined);
    deaf.close();
  }));

Deno.test("WsListener: a ping is answered once", () =>
  withListener(async ({ url, accepted }) => {
    const client = new WsClient(url);
    await once(client, "open");
    const pongs: string[] = [];
    client.on("pong", (data) => pongs.push(data.toString()));
    client.ping("a");
    client.send("after it");
    await eventually("the ping", () => accepted[0]?.texts.length === 1 || undefined);
    const last = once(client, "message");
    accepted[0]?.connection.send([new OutgoingMessage("last")], 6);
    await last;
    assert.deepEqual(pongs, ["a"]);
    client.close();
    await eventually("its end", () => accepted[0]?.gone || undefined);
  }));

Deno.test("WsListener: a header given twice counts twice", () =>
  withListener(async ({ url, accepted }) => {
    const client = new WsClient(url, { headers: { "x-forwarded-for": ["10.0.0.1", "10.0.0.2"] } });
    await once(client, "open");
    assert.equal(accepted[0]?.headers.get("x-forwarded-for"), "10.0.0.1, 10.0.0.2");
    client.close();
    await eventually("its end", () => accepted[0]?.gone || undefined);
  }));

Deno.test("WsListener: to stop cuts who is still there", () =>
  withListener(async ({ url, listener }) => {
    const client = new WsClient(url);
    await once(client, "open");
    const closed = once(client, "close");
    await listener.stop();
    assert.equal((await closed)[0], 1006);
  }));
