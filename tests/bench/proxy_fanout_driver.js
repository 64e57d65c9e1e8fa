/**
 * For Bun: plays the node and a thousand clients of a relay, and times how long each tick of
 * notifications takes from the node's first frame to the last client's last byte.
 *
 *     bun proxy_fanout_driver.js NODE_PORT RELAY_PORT RELAY_PID CLIENTS PER_TICK SECONDS
 *
 * It prints one line of JSON. What the relay's process used of the CPU is read from Linux's /proc:
 * it depends less than the rate on what else the machine does. With SECONDS 0 it holds the clients until its input ends.
 */
import { readFileSync } from "node:fs";

const [nodePort, relayPort, relayPid, clients, perTick, seconds] = process.argv.slice(2).map(
  Number,
);
const MESSAGE_BYTES = 600;
const FRAME_BYTES = MESSAGE_BYTES + 4;
/** A relay runs for weeks, so its first second is not what is measured. */
const WARM_UP_MS = 1_000;
/** The unit in which Linux counts what a process used of the CPU. */
const CPU_TICK_US = 10_000;

/** A notification of exactly MESSAGE_BYTES. */
function notification() {
  const head =
    '{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1","result":"';
  return head + "x".repeat(MESSAGE_BYTES - head.length - 3) + '"}}';
}

/** Microseconds of CPU that the relay has used, its kernel time included. */
function relayCpuUs() {
  const [, fields] = readFileSync(`/proc/${relayPid}/stat`, "latin1").split(") ");
  const [userTicks, systemTicks] = fields.split(" ").slice(11, 13).map(Number);
  return (userTicks + systemTicks) * CPU_TICK_US;
}

// The node: it grants every subscription under the id 0x1.
let upstream;
const connected = Promise.withResolvers();
Bun.serve({
  hostname: "127.0.0.1",
  port: nodePort,
  fetch: (request, server) =>
    server.upgrade(request) ? undefined : new Response("", { status: 400 }),
  websocket: {
    message(socket, text) {
      const { id } = JSON.parse(text);
      upstream = socket;
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: "0x1" }));
    },
    open(socket) {
      upstream ??= socket;
      connected.resolve();
    },
  },
});
await connected.promise;

// The clients: bare connections, since to parse their frames would take longer than to send them.
let ready = 0;
let bytes = 0;
let wanted = Infinity;
let reached = () => {};
const subscribe = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}';
const frame = Buffer.concat([
  Buffer.from([0x81, 0x80 | subscribe.length, 0, 0, 0, 0]),
  Buffer.from(subscribe),
]);
const allReady = Promise.withResolvers();
const handlers = {
  open(socket) {
    socket.data = { text: "", asked: false, ready: false };
    socket.write(
      "GET /ws HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n" +
        "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
  },
  data(socket, chunk) {
    const state = socket.data;
    if (state.ready) {
      bytes += chunk.length;
      if (bytes >= wanted) reached();
      return;
    }
    state.text += chunk.toString("latin1");
    if (!state.asked && state.text.includes("\r\n\r\n")) {
      state.asked = true;
      socket.write(frame);
    }
    if (state.text.includes('"result":"0x1"')) {
      state.ready = true;
      ready += 1;
      if (ready === clients) allReady.resolve();
    }
  },
};
for (let n = 0; n < clients; n += 1) {
  await Bun.connect({ hostname: "127.0.0.1", port: relayPort, socket: handlers });
}
await allReady.promise;

if (seconds === 0) {
  console.log(JSON.stringify({ ready }));
  for await (const _ of Bun.stdin.stream());
  process.exit(0);
}

const message = notification();
const tick = () =>
  new Promise((resolve) => {
    bytes = 0;
    wanted = clients * perTick * FRAME_BYTES;
    reached = resolve;
    for (let n = 0; n < perTick; n += 1) upstream.send(message);
  });
/** Ticks for a while. @returns How long each took, in milliseconds. */
async function tickFor(durationMs) {
  const times = [];
  const startedAt = performance.now();
  while (performance.now() - startedAt < durationMs) {
    const sentAt = performance.now();
    await tick();
    times.push(performance.now() - sentAt);
  }
  return times;
}
await tickFor(WARM_UP_MS);
const cpuUsBefore = relayCpuUs();
const times = await tickFor(seconds * 1000);
const cpuUs = relayCpuUs() - cpuUsBefore;
times.sort((a, b) => a - b);
const totalMs = times.reduce((sum, time) => sum + time, 0);
const deliveries = times.length * clients * perTick;
console.log(JSON.stringify({
  perSecond: Math.round(deliveries / (totalMs / 1000)),
  cpuUs: cpuUs / deliveries,
  p50Ms: times[Math.floor(times.length * 0.5)],
  p99Ms: times[Math.floor(times.length * 0.99)],
}));
process.exit(0);
