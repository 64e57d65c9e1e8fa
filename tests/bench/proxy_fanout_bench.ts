/**
 * Notifications of 600 bytes to 1,000 clients, through the proxy, through a relay of Bun's publish
 * and through the bare loop that is the floor of this runtime, in turns; then what clients that
 * read as fast as they can lose; then what idle clients cost.
 *
 *     deno run -A tests/bench/proxy_fanout_bench.ts [ROUNDS]
 *
 * It needs `npx` to fetch Bun, which also plays the node and the clients. A tick begins with the
 * node's first frame and ends with the last byte at the last client; then the next one begins.
 * Beside the rate stands what the relay's process used of the CPU (`/proc/PID/stat`), by which
 * relays compare on a busy machine, and both are printed as ratios to the rivals measured in the
 * same round.
 */
import { freePort } from "../support/ports.ts";
import {
  locateBun,
  median,
  output,
  ratioOf,
  type Rival,
  start,
  startOwnProxy,
} from "./proxy_rivals.ts";

const CLIENTS = 1_000;
const IDLE_CLIENTS = 5_000;
const ROUND_S = 2;
/**
 * What the loss of clients that read is measured with: clients, messages a burst, time between,
 * bursts.
 */
const BURSTS = [
  { what: "1 client, 30 MB/s", clients: 1, perBurst: 5_000, everyMs: 100, bursts: 30 },
  { what: "1,000 clients, 2,000 at once", clients: 1_000, perBurst: 2_000, everyMs: 0, bursts: 2 },
];
const rounds = Number(Deno.args[0] ?? 5);

interface Figures {
  perSecond: number;
  /** Microseconds of CPU a delivery. */
  cpuUs: number;
  p50Ms: number;
  p99Ms: number;
}

/** The node comes up after the proxy, which should not wait long to try again, nor complain. */
const QUICK = [
  "--max-connections-per-address",
  "1000000",
  "--reconnect-max-ms",
  "100",
  "--log-level",
  "error",
];

const bun = await locateBun();
const file = (name: string) => new URL(`./${name}`, import.meta.url).pathname;

async function startRelay(nodePort: number): Promise<Rival> {
  const port = freePort();
  return await start(bun, [file("proxy_fanout_relay.js"), String(nodePort), String(port)], port);
}

async function startBare(nodePort: number): Promise<Rival> {
  const port = freePort();
  const args = ["run", "-A", file("proxy_fanout_bare.ts"), String(nodePort), String(port)];
  return await start(Deno.execPath(), args, port);
}

/** The proxy, its clients on the port for WebSockets alone. */
async function startProxyWithWsPort(nodePort: number): Promise<Rival> {
  const port = freePort();
  const proxy = await startOwnProxy(nodePort, [...QUICK, "--ws-port", String(port)]);
  return { ...proxy, port, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() };
}

const BUN = "Bun publish";
const BARE = "bare loop";
const relays: Record<string, (nodePort: number) => Promise<Rival>> = {
  [BUN]: startRelay,
  [BARE]: startBare,
  "proxy": (nodePort) => startOwnProxy(nodePort, QUICK),
  "proxy, --ws-port": startProxyWithWsPort,
};

async function measure(name: string, perTick: number): Promise<Figures> {
  const nodePort = freePort();
  await using relay = await relays[name]?.(nodePort);
  const args = [nodePort, relay?.port, relay?.pid, CLIENTS, perTick, ROUND_S].map(String);
  return JSON.parse(await output(bun, [file("proxy_fanout_driver.js"), ...args]));
}

for (const perTick of [1, 20]) {
  const figures = new Map<string, Figures[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const name of Object.keys(relays)) {
      figures.set(name, [...(figures.get(name) ?? []), await measure(name, perTick)]);
    }
  }
  console.log(`${perTick} a tick, ${CLIENTS} clients`);
  for (const [name, taken] of figures) {
    const of = (pick: (figure: Figures) => number) => median(taken.map(pick));
    const ratio = (rival: string, pick: (figure: Figures) => number) =>
      ratioOf(taken, figures.get(rival), pick);
    const perSecond = String(Math.round(of((figure) => figure.perSecond))).padStart(9);
    const p50 = of((figure) => figure.p50Ms).toFixed(1);
    const p99 = of((figure) => figure.p99Ms).toFixed(1);
    const cpu = `${of((figure) => figure.cpuUs).toFixed(2)} µs of CPU each`;
    const latency = `last client p50 ${p50} ms, p99 ${p99} ms`;
    const rate = `${ratio(BUN, ({ perSecond }) => perSecond)} of Bun's rate`;
    const cpuRatios = [BUN, BARE].map((rival) => ratio(rival, ({ cpuUs }) => cpuUs));
    console.log(
      `  ${name.padEnd(17)} ${perSecond} deliveries/s, ${cpu}   ${latency}   ${rate}, ` +
        `CPU ${cpuRatios[0]} of Bun's, ${cpuRatios[1]} of the bare loop's`,
    );
  }
}

for (const { what, clients, perBurst, everyMs, bursts } of BURSTS) {
  console.log(what);
  for (const [name, startOne] of Object.entries(relays)) {
    const nodePort = freePort();
    await using relay = await startOne(nodePort);
    const load = [clients, perBurst, everyMs, bursts];
    const args = [nodePort, relay.port, relay.pid, ...load].map(String);
    const taken = JSON.parse(await output(bun, [file("proxy_fanout_loss.js"), ...args]));
    const rate = `${taken.megabytesPerSecond.toFixed(1)} MB/s`;
    const cpu = `${taken.cpuUs?.toFixed(2)} µs of CPU each`;
    console.log(`  ${name.padEnd(17)} ${taken.lost} of ${taken.due} lost, ${rate}, ${cpu}`);
  }
}

await holdIdle();

/** What a client costs that is subscribed and gets nothing. */
async function holdIdle(): Promise<void> {
  const nodePort = freePort();
  await using proxy = await startOwnProxy(nodePort, QUICK);
  const resident = async () => {
    const text = await (await fetch(`http://127.0.0.1:${proxy.port}/metrics`)).text();
    const of = (metric: string) => Number(new RegExp(`^${metric} (\\S+)$`, "m").exec(text)?.[1]);
    return {
      bytes: of("process_resident_memory_bytes"),
      clients: of("proxy_ws_connections_active"),
    };
  };
  const before = await resident();
  const args = [nodePort, proxy.port, proxy.pid, IDLE_CLIENTS, 1, 0].map(String);
  const driver = new Deno.Command(bun, {
    args: [file("proxy_fanout_driver.js"), ...args],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = driver.stdout.getReader();
  await reader.read();
  const held = await resident();
  const each = (held.bytes - before.bytes) / held.clients / 1024;
  console.log(`${held.clients} idle clients held, ${each.toFixed(1)} KiB each`);
  await driver.stdin.close();
  await reader.cancel();
  await driver.status;
}
