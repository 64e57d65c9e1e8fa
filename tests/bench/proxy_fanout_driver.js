/**
 * For Bun: times how long each tick of notifications takes from the node's first frame to the last
 * byte at the last of a relay's clients.
 *
 *     bun proxy_fanout_driver.js NODE_PORT RELAY_PORT RELAY_PID CLIENTS PER_TICK SECONDS
 *
 * It prints one line of JSON. What the relay's process used of the CPU depends less than the rate on
 * what else the machine does. With SECONDS 0 it holds the clients until its input ends.
 */
import { cpuUs, FRAME_BYTES, openClients, startNode } from "./proxy_fanout_scene.js";

const [nodePort, relayPort, relayPid, clients, perTick, seconds] = process.argv.slice(2).map(
  Number,
);
/** A relay runs for weeks, so its first second is not what is measured. */
const WARM_UP_MS = 1_000;

const send = await startNode(nodePort);
let bytes = 0;
let wanted = Infinity;
let reached = () => {};
await openClients(relayPort, clients, (length) => {
  bytes += length;
  if (bytes >= wanted) reached();
});

if (seconds === 0) {
  console.log(JSON.stringify({ clients }));
  for await (const _ of Bun.stdin.stream());
  process.exit(0);
}

const tick = () =>
  new Promise((resolve) => {
    bytes = 0;
    wanted = clients * perTick * FRAME_BYTES;
    reached = resolve;
    for (let n = 0; n < perTick; n += 1) send();
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
const cpuUsBefore = cpuUs(relayPid);
const times = await tickFor(seconds * 1000);
const usedUs = cpuUs(relayPid) - cpuUsBefore;
times.sort((a, b) => a - b);
const totalMs = times.reduce((sum, time) => sum + time, 0);
const deliveries = times.length * clients * perTick;
console.log(JSON.stringify({
  perSecond: Math.round(deliveries / (totalMs / 1000)),
  cpuUs: usedUs / deliveries,
  p50Ms: times[Math.floor(times.length * 0.5)],
  p99Ms: times[Math.floor(times.length * 0.99)],
}));
process.exit(0);
