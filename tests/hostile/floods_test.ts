/** Clients that send frames, or requests, without end: others are served meanwhile. */
import assert from "node:assert/strict";
import { withinMs } from "../../lib/clock.ts";
import { EchoNode } from "../proxy/echo_node.ts";
import { call, type ClientPort, post, writeAll } from "../proxy/support.ts";
import { handshake, textFrame, WEBSOCKET_KEY } from "../support/rpc_socket.ts";
import { withProxyProcess } from "./proxy_process.ts";

const FLOODERS = 10;
/** So many that a read would take 3 s of CPU if all that they have sent were answered before it. */
const PIPELINERS = 400;
const READS = 5;

/**
 * A read takes up to 0.7 s of the proxy's CPU; before, as long as the flood. A proxy that is flooded
 * computes without a pause: more time than that it only spends waiting for a core of a busy machine.
 */
const READ_CPU_MS_MAX = 2_000;

/** By the clock, should the proxy wait in vain. */
const READ_MS_MAX = 10_000;

/** An empty ping. */
const PING = new Uint8Array([0x89, 0x80, 0, 0, 0, 0]);

/** Sends bytes again and again, and drops what comes, until the connection ends. */
function flood(connection: Deno.Conn, bytes: Uint8Array): Disposable {
  const send = async () => {
    for (;;) await writeAll(connection, bytes);
  };
  const buffer = new Uint8Array(65_536);
  const read = async () => {
    while (await connection.read(buffer) !== null);
  };
  send().catch(() => {}); // cut
  read().catch(() => {});
  return {
    [Symbol.dispose]() {
      try {
        connection.close();
      } catch {
        // The proxy was first.
      }
    },
  };
}

function repeated(bytes: Uint8Array, count: number): Uint8Array {
  const all = new Uint8Array(bytes.length * count);
  for (let at = 0; at < all.length; at += bytes.length) all.set(bytes, at);
  return all;
}

/** Clock ticks of a second in `/proc/PID/stat`: `getconf CLK_TCK` is 100 on every Linux. */
const TICKS_PER_SECOND = 100;

/** CPU that a process has used. Tests may not read /proc. */
async function cpuMsOf(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("cat", { args: [`/proc/${pid}/stat`] }).output();
  const [, user, system] =
    /^.*\)(?: \S+){11} (\d+) (\d+) /.exec(new TextDecoder().decode(stdout)) ??
      assert.fail("no process");
  return (Number(user) + Number(system)) * 1_000 / TICKS_PER_SECOND;
}

async function requireReads(url: string, pid: number): Promise<void> {
  for (let id = 0; id < READS; id += 1) {
    const beforeMs = await cpuMsOf(pid);
    const read = post(url, call(id, "core_getAccount", [id]));
    const answer = await withinMs(read, READ_MS_MAX, undefined);
    assert(answer, "no read was answered during the flood");
    await answer.text();
    const usedMs = await cpuMsOf(pid) - beforeMs;
    assert(usedMs <= READ_CPU_MS_MAX, `the proxy used ${usedMs} ms of CPU until it answered`);
  }
}

const floods: [port: ClientPort, what: string, frame: Uint8Array][] = [
  ["main port", "messages", textFrame("{}")],
  ["WebSocket port", "messages", textFrame("{}")],
  ["WebSocket port", "pings", PING],
];
for (const [port, what, frame] of floods) {
  Deno.test(`Hostile: clients that send ${what} without end leave time for others (${port})`, () =>
    withProxyProcess(port, new EchoNode(), [], async ({ url, wsUrl }, pid) => {
      const connections = [];
      for (let n = 0; n < FLOODERS; n += 1) {
        const [connection] = await handshake(wsUrl, WEBSOCKET_KEY);
        connections.push(connection);
      }
      using flooders = new DisposableStack();
      const bytes = repeated(frame, 30_000);
      for (const connection of connections) flooders.use(flood(connection, bytes));
      await requireReads(url, pid);
      const [late, answer] = await handshake(wsUrl, WEBSOCKET_KEY);
      late.close();
      assert.match(answer, /^HTTP\/1\.1 101 /);
    }));
}

Deno.test("Hostile: clients that send requests without waiting for answers leave time for others", () =>
  withProxyProcess("main port", new EchoNode(), [], async ({ url }, pid) => {
    const { hostname, port } = new URL(url);
    const head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n";
    const requests = repeated(new TextEncoder().encode(`${head}{}`), 1_000);
    using flooders = new DisposableStack();
    for (let n = 0; n < PIPELINERS; n += 1) {
      const connection = await Deno.connect({ hostname, port: Number(port) });
      flooders.use(flood(connection, requests));
    }
    await requireReads(url, pid);
  }));

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
