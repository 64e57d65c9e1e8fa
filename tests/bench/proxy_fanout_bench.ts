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
 * same round, with what was lost.
 */
import { fileURLToPath } from "node:url";
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

const IDLE_CLIENTS = 5_000;
/** Clients, messages a burst, milliseconds between bursts (0: when all have arrived), and how long. */
const LOADS = [
  { what: "one a tick, 1,000 clients", clients: 1_000, perBurst: 1, everyMs: 0, seconds: 2 },
  { what: "twenty a tick, 1,000 clients", clients: 1_000, perBurst: 20, everyMs: 0, seconds: 2 },
  { what: "1 client, 30 MB/s", clients: 1, perBurst: 5_000, everyMs: 100, seconds: 3 },
  { what: "2,000 at once, 1,000 clients", clients: 1_000, perBurst: 2_000, everyMs: 0, seconds: 5 },
];
const rounds = Number(Deno.args[0] ?? 5);

interface Figures {
  perSecond: number;
  /** Microseconds of CPU a delivery. */
  cpuUs: number;
  p50Ms: number;
  p99Ms: number;
  lost: number;
  megabytesPerSecond: number;
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
const file = (name: string) => fileURLToPath(new URL(`./${name}`, import.meta.url));

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

/** Runs the driver, which plays the node and the clients of a relay. */
async function measure(
  startRelay: (nodePort: number) => Promise<Rival>,
  { clients, perBurst, everyMs, seconds }: typeof LOADS[number],
): Promise<Figures> {
  const nodePort = freePort();
  await using relay = await startRelay(nodePort);
  const numbers = [nodePort, relay.port, relay.pid, clients, perBurst, everyMs, seconds];
  return JSON.parse(await output(bun, [file("proxy_fanout_driver.js"), ...numbers.map(String)]));
}

for (const load of LOADS) {
  const figures = new Map<string, Figures[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, startRelay] of Object.entries(relays)) {
      figures.set(name, [...(figures.get(name) ?? []), await measure(startRelay, load)]);
    }
  }
  console.log(load.what);
  for (const [name, taken] of figures) {
    const of = (key: keyof Figures) => median(taken.map((figure) => figure[key]));
    const ratio = (rival: string, key: keyof Figures) =>
      ratioOf(taken, figures.get(rival), (figure) => figure[key]);
    console.log(
      `  ${name.padEnd(17)} ${String(of("perSecond")).padStart(9)} deliveries/s ` +
        `(${of("megabytesPerSecond").toFixed(0)} MB/s), ${of("lost")} lost, ` +
        `${of("cpuUs").toFixed(2)} µs of CPU each   ` +
        `last client p50 ${of("p50Ms").toFixed(1)} ms, p99 ${of("p99Ms").toFixed(1)} ms   ` +
        `${ratio(BUN, "perSecond")} of Bun's rate, CPU ${ratio(BUN, "cpuUs")} of Bun's, ` +
        `${ratio(BARE, "cpuUs")} of the bare loop's`,
    );
  }
}

await holdIdle();

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
  const args = [nodePort, proxy.port, proxy.pid, IDLE_CLIENTS, 1, 0, 0].map(String);
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
