/**
 * How fast the oracle answers while its sources push.
 *
 *     deno run -A tests/bench/oracle_bench.ts [seconds]
 *
 * Three processes: stand-in exchanges that push 10,000 prints a second in total, the oracle, and this
 * one, which plays eight nodes that each pull `GET /prices` every 100 ms (spec: price oracle, "Pull
 * cycle", with its timeout of 10 ms). With each pull of the oracle goes one of a bare server that
 * answers a constant body of the same length and has nothing else to do: what HTTP itself takes, and
 * what the machine does to both at that moment.
 */
import { systemClock } from "../../lib/clock.ts";
import { exchangeSymbol, MARKETS } from "../../lib/protocol/markets.ts";
import { PROVIDER_NAMES } from "../../lib/protocol/providers.ts";
import { DIALECTS } from "../../services/exchanges/dialects/mod.ts";
import { PriceBoard } from "../../services/oracle/price_board.ts";
import { PROVIDERS } from "../../services/oracle/providers.ts";
import { Session } from "../../services/oracle/session.ts";

const PRINTS_PER_SECOND = 10_000;

const NODES = 8;

const PULL_EVERY_MS = 100;

/** The write node gives up on a pull after this time. */
const PULL_TIMEOUT_MS = 10;

/** Pulls before this time are not counted: the processes are still being compiled. */
const WARM_UP_MS = 5_000;

const FRAMES = 50_000;

const MEMORY_SAMPLES = 6;

const main = new URL("../../main.ts", import.meta.url).pathname;

/** A server of its own process; its first line of output with a URL says where it is. */
async function serve(args: string[], source: "stdout" | "stderr") {
  const child = new Deno.Command(Deno.execPath(), {
    args,
    stdin: "null",
    stdout: source === "stdout" ? "piped" : "null",
    stderr: source === "stderr" ? "piped" : "inherit",
  }).spawn();
  const lines = child[source].pipeThrough(new TextDecoderStream());
  let text = "";
  const reader = lines.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`Ended before it listened: ${text}`);
    text += value;
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
    if (url === undefined) continue;
    // What it says later is read and forgotten, so that it never waits for a reader.
    const drained = (async () => {
      while (!(await reader.read()).done);
    })();
    const stop = async () => {
      child.kill("SIGTERM");
      await Promise.all([child.status, drained]);
    };
    return { url, stop };
  }
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** Time of one pull, in milliseconds. */
async function pull(url: string): Promise<number> {
  const fromMs = performance.now();
  await (await fetch(url)).text();
  return performance.now() - fromMs;
}

async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const values = [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\S+)$`, "gm"))];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Microseconds from a frame to the new answer, for each provider, and of `JSON.parse` alone. */
function measureFrames(): void {
  console.log("One frame to the new answer, alone in its process:");
  const board = new PriceBoard({
    markets: MARKETS,
    aggregation: "median",
    minSources: 1,
    maxSourceAgeMs: 30_000,
  });
  for (const dialect of DIALECTS) {
    const provider = PROVIDERS[dialect.provider];
    const frames = Array.from(
      { length: FRAMES },
      (_, index) =>
        dialect.trade(exchangeSymbol({ symbol: "BTC/USDT" }, dialect.provider), {
          provider: provider.name,
          market: "BTC/USDT",
          id: index + 1,
          timeMs: 1_700_000_000_000 + index,
          price: 60_000_000_000n + BigInt(index % 1_000) * 10_000n,
          amount: "0.1",
          side: "buy",
        }),
    );
    const session = new Session({
      provider,
      markets: MARKETS.slice(0, 1),
      clock: systemClock,
      send() {},
      handlers: {
        onPrint: (market, price) => board.update(provider.name, market, price, systemClock.now()),
        onSubscribed() {},
        onFault() {},
        onDropped(reason) {
          throw new Error(`A frame of the benchmark was dropped: ${reason}`);
        },
      },
    });
    const wholeUs = perFrame(frames, (frame) => session.receive(frame));
    const jsonUs = perFrame(frames, (frame) => JSON.parse(frame));
    console.log(
      `  ${provider.name}  ${wholeUs.toFixed(2)} us   JSON.parse alone ${jsonUs.toFixed(2)} us   ` +
        `ratio ${(wholeUs / jsonUs).toFixed(1)}`,
    );
  }
}

function perFrame(frames: readonly string[], task: (frame: string) => void): number {
  const fromMs = performance.now();
  for (const frame of frames) task(frame);
  return (performance.now() - fromMs) * 1_000 / frames.length;
}

function report(name: string, timesMs: number[]): number {
  const sorted = timesMs.sort((a, b) => a - b);
  const late = sorted.filter((timeMs) => timeMs > PULL_TIMEOUT_MS).length;
  const figures = [0.5, 0.99, 0.999, 1].map((share) => quantile(sorted, share).toFixed(2));
  console.log(
    `  ${name}  ${sorted.length} pulls   p50 ${figures[0]}   p99 ${figures[1]}   ` +
      `p99.9 ${figures[2]}   worst ${figures[3]} ms   later than ${PULL_TIMEOUT_MS} ms: ${late} ` +
      `(${(100 * late / sorted.length).toFixed(3)} %)`,
  );
  return quantile(sorted, 0.99);
}

async function measurePulls(seconds: number): Promise<void> {
  const rate = Math.ceil(PRINTS_PER_SECOND / PROVIDER_NAMES.length / MARKETS.length);
  const exchanges = await serve(
    ["run", "-A", main, "exchanges", "--port", "0", "--rate", String(rate)],
    "stderr",
  );
  const sources = DIALECTS.flatMap((dialect) => [
    "--provider-url",
    `${dialect.provider}=${exchanges.url.replace("http", "ws")}${dialect.path}`,
  ]);
  const oracle = await serve(["run", "-A", main, "oracle", "--port", "0", ...sources], "stderr");
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const { length } = await (await fetch(`${oracle.url}/prices`)).text();
  const bare = await serve([
    "eval",
    `const body = "x".repeat(${length});
     Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: ({ port }) => console.log("http://127.0.0.1:" + port) },
       () => new Response(body, { headers: { "content-type": "application/json" } }));`,
  ], "stdout");
  await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS));

  const printsBefore = await metric(oracle.url, "oracle_prints_total");
  const fromMs = performance.now();
  const endMs = fromMs + seconds * 1_000;
  const oracleTimes: number[] = [];
  const bareTimes: number[] = [];
  let lateAlone = 0;
  const memory: number[] = [];
  const watchMemory = async () => {
    for (let dueMs = fromMs; dueMs <= endMs; dueMs += seconds * 1_000 / MEMORY_SAMPLES) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
      memory.push(await metric(oracle.url, "process_resident_memory_bytes"));
    }
  };
  const node = async (index: number) => {
    const firstMs = fromMs + index * PULL_EVERY_MS / NODES;
    for (let dueMs = firstMs; dueMs < endMs; dueMs += PULL_EVERY_MS) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
      const [ours, theirs] = await Promise.all([pull(`${oracle.url}/prices`), pull(bare.url)]);
      oracleTimes.push(ours);
      bareTimes.push(theirs);
      if (ours > PULL_TIMEOUT_MS && theirs <= PULL_TIMEOUT_MS) lateAlone += 1;
    }
  };
  await Promise.all([watchMemory(), ...Array.from({ length: NODES }, (_, index) => node(index))]);
  const tookSeconds = (performance.now() - fromMs) / 1_000;
  const prints = await metric(oracle.url, "oracle_prints_total") - printsBefore;

  console.log(
    `${NODES} nodes pull every ${PULL_EVERY_MS} ms for ${tookSeconds.toFixed(0)} s at ` +
      `${(prints / tookSeconds).toFixed(0)} prints/s:`,
  );
  const ours = report("oracle", oracleTimes);
  const theirs = report("bare  ", bareTimes);
  console.log(`  oracle late while the bare server was in time: ${lateAlone}`);
  const series = memory.map((bytes) => (bytes / 1024 / 1024).toFixed(0));
  console.log(`  resident memory, from start to end: ${series.join(" ")} MiB`);
  console.log(`  ratio of p99, oracle to bare server: ${(ours / theirs).toFixed(2)}`);
  for (const server of [oracle, bare, exchanges]) await server.stop();
}

measureFrames();
await measurePulls(Number(Deno.args[0] ?? 60));
