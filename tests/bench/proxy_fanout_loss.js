/**
 * For Bun: sends notifications in bursts to clients of a relay that read as fast as they can, whether
 * they keep up or not, and counts what arrives.
 *
 *     bun proxy_fanout_loss.js NODE_PORT RELAY_PORT RELAY_PID CLIENTS PER_BURST EVERY_MS BURSTS
 *
 * It prints one line of JSON. With EVERY_MS 0 a burst begins when the one before has arrived.
 */
import { cpuUs, FRAME_BYTES, openClients, startNode } from "./proxy_fanout_scene.js";

const [nodePort, relayPort, relayPid, clients, perBurst, everyMs, bursts] = process.argv.slice(2)
  .map(Number);
/** Nothing more is expected once nothing has come for so long. */
const QUIET_MS = 20_000;
/** A relay runs for weeks: its first bursts are not what is measured. */
const WARM_UP_BURSTS = perBurst * clients > 1e6 ? 1 : 3;

const send = await startNode(nodePort);
let bytes = 0;
let lastAt = performance.now();
await openClients(relayPort, clients, (length) => {
  bytes += length;
  lastAt = performance.now();
});

/** Waits until so many bytes have come, or no more come. */
async function arrived(wanted) {
  lastAt = Math.max(lastAt, performance.now());
  while (bytes < wanted && performance.now() - lastAt < QUIET_MS) await Bun.sleep(1);
}

const each = clients * perBurst * FRAME_BYTES;
for (let burst = 0; burst < WARM_UP_BURSTS; burst += 1) {
  const before = bytes;
  for (let n = 0; n < perBurst; n += 1) send();
  await arrived(before + each);
}
bytes = 0;
const startedAt = performance.now();
const cpuUsBefore = cpuUs(relayPid);
for (let burst = 1; burst <= bursts; burst += 1) {
  for (let n = 0; n < perBurst; n += 1) send();
  if (everyMs > 0) await Bun.sleep(startedAt + burst * everyMs - performance.now());
  else await arrived(each * burst);
}
await arrived(each * bursts);
const tookS = (lastAt - startedAt) / 1000;
const due = clients * perBurst * bursts;
const deliveries = Math.round(bytes / FRAME_BYTES);
console.log(JSON.stringify({
  due,
  lost: due - deliveries,
  megabytesPerSecond: bytes / 1e6 / tookS,
  cpuUs: (cpuUs(relayPid) - cpuUsBefore) / deliveries,
}));
process.exit(0);
