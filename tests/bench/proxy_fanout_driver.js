/**
 * For Bun: sends notifications in bursts, and times each from the node's first frame to the last byte
 * at the last of a relay's clients, which read as fast as they can; what does not arrive is lost.
 *
 *     bun proxy_fanout_driver.js NODE_PORT RELAY_PORT RELAY_PID CLIENTS PER_BURST EVERY_MS SECONDS
 *
 * It prints one line of JSON. With EVERY_MS 0 a burst begins when the one before has arrived. What the
 * relay's process used of the CPU depends less than the rate on what else the machine does. With
 * SECONDS 0 it holds the clients until its input ends.
 */
import { cpuUs, FRAME_BYTES, openClients, startNode } from "./proxy_fanout_scene.js";

const [nodePort, relayPort, relayPid, clients, perBurst, everyMs, seconds] = process.argv.slice(2)
  .map(Number);
/** A relay runs for weeks, so its first second is not what is measured. */
const WARM_UP_MS = 1_000;
/** Nothing more is expected once nothing has come for so long. */
const QUIET_MS = 20_000;
const burstBytes = clients * perBurst * FRAME_BYTES;

const send = await startNode(nodePort);
let bytes = 0;
let lastAt = 0;
let wanted = Infinity;
let reached = () => {};
await openClients(relayPort, clients, (length) => {
  bytes += length;
  lastAt = performance.now();
  if (bytes >= wanted) reached();
});

if (seconds === 0) {
  console.log(JSON.stringify({ clients }));
  for await (const _ of Bun.stdin.stream());
  process.exit(0);
}

/** Resolves when so many bytes have come, or no more come. */
async function arrived(count) {
  if (bytes >= count) return;
  const all = new Promise((resolve) => reached = resolve);
  wanted = count;
  lastAt = performance.now();
  const isQuiet = setInterval(() => performance.now() - lastAt > QUIET_MS && reached(), 100);
  await all;
  clearInterval(isQuiet);
  wanted = Infinity;
}

/** Sends bursts for a while, at least one. @returns How long each took, in milliseconds. */
async function sendFor(durationMs, everyMs) {
  bytes = 0;
  const times = [];
  const startedAt = performance.now();
  do {
    const sentAt = performance.now();
    for (let n = 0; n < perBurst; n += 1) send();
    const sent = times.push(0);
    if (everyMs > 0) await Bun.sleep(startedAt + sent * everyMs - performance.now());
    else await arrived(sent * burstBytes);
    times[sent - 1] = performance.now() - sentAt;
  } while (performance.now() - startedAt < durationMs);
  await arrived(times.length * burstBytes);
  return { times, tookMs: Math.max(lastAt, startedAt + 1) - startedAt };
}
await sendFor(WARM_UP_MS, 0);
const cpuUsBefore = cpuUs(relayPid);
const { times, tookMs } = await sendFor(seconds * 1000, everyMs);
const usedUs = cpuUs(relayPid) - cpuUsBefore;
times.sort((a, b) => a - b);
const due = times.length * clients * perBurst;
const deliveries = Math.round(bytes / FRAME_BYTES);
console.log(JSON.stringify({
  perSecond: Math.round(deliveries / (tookMs / 1000)),
  megabytesPerSecond: bytes / 1e3 / tookMs,
  cpuUs: usedUs / deliveries,
  p50Ms: times[Math.floor(times.length * 0.5)],
  p99Ms: times[Math.floor(times.length * 0.99)],
  lost: due - deliveries,
}));
process.exit(0);
