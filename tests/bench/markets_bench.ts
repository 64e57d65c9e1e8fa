/**
 * What more markets cost: a deployment with the specification's three beside one with `[markets]`, 50
 * by default. Each service has a process of its own, and the two are measured in turn. Run with
 * `deno run --allow-all tests/bench/markets_bench.ts [markets] [seconds]`.
 *
 * It shows how late checkpoints are, how long `GET /prices` takes eight nodes that pull every 100 ms,
 * quotes a second, and the memory of the node.
 */
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { DIALECTS } from "../../services/exchanges/dialects/mod.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { marketsToml, withMarketsFile } from "../support/markets_file.ts";

const NODES = 8;
const PULL_EVERY_MS = 100;
const QUOTE_CLIENTS = 16;
const ROUNDS = 3;
const WARM_UP_MS = 8_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const main = new URL("../../main.ts", import.meta.url).pathname;

/** Starts a service, and waits until its log says where it listens. */
async function serve(args: string[]): Promise<{ url: string; stop(): Promise<void> }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", main, ...args, "--port", "0"],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const log = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let url: string | undefined;
  while (url === undefined) {
    const { value, done } = await log.read();
    if (done) throw new Error(`Ended before it listened: ${text}`);
    text += value;
    url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
  }
  const drained = (async () => {
    while (!(await log.read()).done);
  })();
  const stop = async () => {
    child.kill("SIGTERM");
    await Promise.all([child.status, drained]);
  };
  return { url, stop };
}

/** Exchanges, oracle, node and solver, each in a process of its own. */
class Deployment {
  readonly quotesPerSecond: number[] = [];
  readonly pullsMs: number[] = [];
  readonly lateness = new Map<string, number>();
  readonly #urls: Record<"oracle" | "node" | "solver", string>;
  readonly #quote: string;
  readonly #services: { stop(): Promise<void> }[];

  private constructor(
    urls: Record<"oracle" | "node" | "solver", string>,
    quote: string,
    services: { stop(): Promise<void> }[],
  ) {
    this.#urls = urls;
    this.#quote = quote;
    this.#services = services;
  }

  /** @param path File of the markets; the specification's without one. */
  static async start(path: string | undefined): Promise<Deployment> {
    const markets = path === undefined ? [] : ["--markets", path];
    const exchanges = await serve(["exchanges", ...markets]);
    const sources = DIALECTS.flatMap(({ provider, path }) => [
      "--provider-url",
      `${provider}=${exchanges.url.replace("http", "ws")}${path}`,
    ]);
    const oracle = await serve(["oracle", ...markets, ...sources]);
    const node = await serve([
      ...[
        "node",
        "--read-port",
        "0",
        ...markets,
        "--data-dir",
        ":memory:",
        "--oracle-url",
        oracle.url,
      ],
    ]);
    const solver = await serve([
      ...["solver", ...markets, "--rpc-url", node.url],
      ...["--ws-url", node.url.replace("http", "ws"), "--database", ":memory:"],
      ...["--private-key", DEV_ACCOUNTS.solver.privateKey],
      ...["--rate-limit", "0", "--rate-limit-total", "0"],
    ]);
    const { base, quote } = (await readMarkets(path)).list.at(-1)!; // there is one at least
    const now = Date.now();
    const body = JSON.stringify({
      ...{ user: base, thesisType: "box", base, quote, betAmount: "1000000" },
      ...{ lowerPrice: "1", upperPrice: "1000000000000" },
      ...{ startTime: now, endTime: now + 60_000, deadline: now + 3_600_000 },
    });
    const urls = { oracle: oracle.url, node: node.url, solver: solver.url };
    return new Deployment(urls, body, [solver, node, oracle, exchanges]);
  }

  async pull(seconds: number): Promise<void> {
    const before = await this.#latenessBuckets();
    const fromMs = performance.now();
    const node = async (index: number) => {
      const firstMs = fromMs + index * PULL_EVERY_MS / NODES;
      for (let dueMs = firstMs; dueMs < fromMs + seconds * 1_000; dueMs += PULL_EVERY_MS) {
        await sleep(Math.max(0, dueMs - performance.now()));
        const startedMs = performance.now();
        await (await fetch(`${this.#urls.oracle}/prices`)).text();
        this.pullsMs.push(performance.now() - startedMs);
      }
    };
    await Promise.all(Array.from({ length: NODES }, (_, index) => node(index)));
    for (const [bound, count] of await this.#latenessBuckets()) {
      const added = count - (before.get(bound) ?? 0);
      this.lateness.set(bound, (this.lateness.get(bound) ?? 0) + added);
    }
  }

  async askQuotes(seconds: number): Promise<void> {
    const endMs = performance.now() + seconds * 1_000;
    let quotes = 0;
    const client = async () => {
      while (performance.now() < endMs) {
        const answer = await fetch(`${this.#urls.solver}/quote`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: this.#quote,
        });
        if (!answer.ok) throw new Error(await answer.text());
        await answer.body?.cancel();
        quotes += 1;
      }
    };
    await Promise.all(Array.from({ length: QUOTE_CLIENTS }, client));
    this.quotesPerSecond.push(quotes / seconds);
  }

  async memoryMiB(): Promise<number> {
    const text = await (await fetch(`${this.#urls.node}/metrics`)).text();
    return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) / 2 ** 20;
  }

  async stop(): Promise<void> {
    for (const service of this.#services) await service.stop();
  }

  async #latenessBuckets(): Promise<Map<string, number>> {
    const text = await (await fetch(`${this.#urls.node}/metrics`)).text();
    const rows = text.matchAll(/^node_checkpoint_lateness_seconds_bucket\{le="(.+)"\} (\d+)$/gm);
    return new Map([...rows].map(([, bound, count]) => [bound!, Number(count)])); // both matched
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

async function report(name: string, deployment: Deployment): Promise<void> {
  const total = deployment.lateness.get("+Inf") ?? 0;
  const boundOf = (share: number) =>
    [...deployment.lateness].find(([, count]) => count >= share * total)?.[0];
  const pulls = [0.5, 0.99, 0.999].map((share) => quantile(deployment.pullsMs, share).toFixed(1));
  console.log(
    `${name.padStart(3)} markets: ${total} checkpoints within ${boundOf(0.5)} s (median), ` +
      `${boundOf(0.99)} s (p99) of their time; /prices p50 ${pulls[0]}, p99 ${pulls[1]}, p99.9 ` +
      `${pulls[2]} ms; ${quantile(deployment.quotesPerSecond, 0.5).toFixed(0)} quotes/s; ` +
      `${(await deployment.memoryMiB()).toFixed(0)} MiB`,
  );
}

async function compare(count: number, seconds: number): Promise<void> {
  await withMarketsFile(marketsToml(count), async (path) => {
    const deployments = [await Deployment.start(undefined), await Deployment.start(path)] as const;
    await sleep(WARM_UP_MS);
    for (let round = 0; round < ROUNDS; round++) {
      for (const deployment of deployments) await deployment.pull(seconds / ROUNDS);
      for (const deployment of deployments) await deployment.askQuotes(seconds / ROUNDS / 2);
    }
    const [three, many] = deployments;
    await report("3", three);
    await report(String(count), many);
    const share = quantile(many.quotesPerSecond, 0.5) / quantile(three.quotesPerSecond, 0.5);
    console.log(`Quotes a second with ${count} markets beside three: ${share.toFixed(2)}`);
    for (const deployment of deployments) await deployment.stop();
  });
}

await compare(Number(Deno.args[0] ?? 50), Number(Deno.args[1] ?? 30));
