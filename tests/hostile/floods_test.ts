/** Clients that send short frames without end, and read nothing: others are served meanwhile. */
import assert from "node:assert/strict";
import { withinMs } from "../../lib/clock.ts";
import { EchoNode } from "../proxy/echo_node.ts";
import { call, type ClientPort, post, writeAll } from "../proxy/support.ts";
import { handshake, textFrame, WEBSOCKET_KEY } from "../support/rpc_socket.ts";
import { withProxyProcess } from "./proxy_process.ts";

const FLOODERS = 10;
const READS = 5;

/** A read takes under 0.3 s on a busy machine; before, as long as the flood. */
const READ_MS_MAX = 3_000;

/** An empty ping. */
const PING = new Uint8Array([0x89, 0x80, 0, 0, 0, 0]);

/** Sends a frame again and again until the connection ends. */
async function flood(wsUrl: string, frame: Uint8Array): Promise<Disposable> {
  const [connection] = await handshake(wsUrl, WEBSOCKET_KEY);
  const frames = new Uint8Array(frame.length * 30_000);
  for (let at = 0; at < frames.length; at += frame.length) frames.set(frame, at);
  const send = async () => {
    for (;;) await writeAll(connection, frames);
  };
  const sending = send().catch(() => {}); // cut
  return {
    [Symbol.dispose]() {
      try {
        connection.close();
      } catch {
        // The proxy was first.
      }
      void sending;
    },
  };
}

const floods: [port: ClientPort, what: string, frame: Uint8Array][] = [
  ["main port", "messages", textFrame("{}")],
  ["WebSocket port", "messages", textFrame("{}")],
  ["WebSocket port", "pings", PING],
];
for (const [port, what, frame] of floods) {
  Deno.test(`Hostile: clients that send ${what} without end leave time for others (${port})`, () =>
    withProxyProcess(port, new EchoNode(), [], async ({ url, wsUrl }) => {
      using flooders = new DisposableStack();
      for (let n = 0; n < FLOODERS; n += 1) flooders.use(await flood(wsUrl, frame));
      for (let id = 0; id < READS; id += 1) {
        const read = post(url, call(id, "core_getAccount", [id]));
        const answer = await withinMs(read, READ_MS_MAX, undefined);
        assert(answer, "no read was answered during the flood");
        await answer.text();
      }
    }));
}

/** Sends messages at once. @returns Whether the last one was answered, before the connection ended. */
async function isAnswered(wsUrl: string, count: number): Promise<boolean> {
  const [connection] = await handshake(wsUrl, WEBSOCKET_KEY);
  using _ = connection;
  const messages = Array.from({ length: count }, (_, id) => call(id, "core_getAccount", [id]));
  const frames = messages.map((message) => textFrame(JSON.stringify(message)));
  const sending = writeAll(connection, new Uint8Array(await new Blob(frames).arrayBuffer()));
  sending.catch(() => {}); // cut
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(65_536);
  for (let came = "";;) {
    // A connection that ends with unread bytes is reset.
    const bytes = await connection.read(buffer).catch(() => null);
    came += decoder.decode(buffer.subarray(0, bytes ?? 0), { stream: true });
    if (came.includes(`"id":${count - 1},`)) return true;
    if (bytes === null || came.includes("Too many messages at once")) return false;
  }
}

for (const port of ["main port", "WebSocket port"] as const) {
  Deno.test(`Hostile: a client that sends thousands of messages at once is closed (${port})`, () =>
    withProxyProcess(port, new EchoNode(), [], async ({ wsUrl }) => {
      assert.equal(await isAnswered(wsUrl, 1_000), true);
      assert.equal(await isAnswered(wsUrl, 9_000), false);
    }));
}
