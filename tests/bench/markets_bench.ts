/**
 * What more markets cost: a whole stack with the specification's three beside one with `[markets]`, 50
 * by default, each in a process of its own and measured in turn. Run with
 * `deno run --allow-all tests/bench/markets_bench.ts [markets] [seconds]`.
 *
 * It shows how late checkpoints are, how long `GET /prices` takes eight nodes that pull every 100 ms,
 * quotes a second, and the memory of the process.
 */
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { FREE_PORTS, type StackUrls, startStack } from "../../services/stack/stack.ts";
import { marketsToml, withMarketsFile } from "../support/markets_file.ts";

const NODES = 8;
const PULL_EVERY_MS = 100;
const QUOTE_CLIENTS = 16;
const ROUNDS = 3;
const WARM_UP_MS = 8_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A stack in a process of its own. */
class StackProcess {
  readonly quotesPerSecond: number[] = [];
  readonly pullsMs: number[] = [];
  readonly #child: Deno.ChildProcess;
  readonly #urls: StackUrls;
  readonly #quote: string;
  readonly lateness = new Map<string, number>();

  private constructor(child: Deno.ChildProcess, urls: StackUrls, quote: string) {
    this.#child = child;
    this.#urls = urls;
    this.#quote = quote;
  }

  /** @param path File of the markets; the specification's without one. */
  static async start(path: string | undefined): Promise<StackProcess> {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", new URL(import.meta.url).pathname, "stack", path ?? ""],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const lines = child.stdout.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    const urls: StackUrls = JSON.parse((await lines.next()).value ?? "");
    const { base, quote } = (await readMarkets(path)).list.at(-1)!; // there is one at least
    const now = Date.now();
    const body = JSON.stringify({
      ...{ user: base, thesisType: "box", base, quote, betAmount: "1000000" },
      ...{ lowerPrice: "1", upperPrice: "1000000000000" },
      ...{ startTime: now, endTime: now + 60_000, deadline: now + 3_600_000 },
    });
    return new StackProcess(child, urls, body);
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
    this.#child.kill("SIGTERM");
    await this.#child.status;
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

async function report(name: string, stack: StackProcess): Promise<void> {
  const total = stack.lateness.get("+Inf") ?? 0;
  const boundOf = (share: number) =>
    [...stack.lateness].find(([, count]) => count >= share * total)?.[0];
  const pulls = [0.5, 0.99, 0.999].map((share) => quantile(stack.pullsMs, share).toFixed(1));
  console.log(
    `${name.padStart(3)} markets: ${total} checkpoints within ${boundOf(0.5)} s (median), ` +
      `${boundOf(0.99)} s (p99) of their time; /prices p50 ${pulls[0]}, p99 ${pulls[1]}, p99.9 ` +
      `${pulls[2]} ms; ${quantile(stack.quotesPerSecond, 0.5).toFixed(0)} quotes/s; ` +
      `${(await stack.memoryMiB()).toFixed(0)} MiB`,
  );
}

async function runStack(path: string | undefined): Promise<void> {
  const pricing = { rateLimit: 0, rateLimitTotal: 0 };
  const stack = await startStack({ ports: FREE_PORTS, seed: 1, markets: path, pricing });
  console.log(JSON.stringify(stack.urls));
  Deno.addSignalListener("SIGTERM", () => stack.stop().finally(() => Deno.exit(0)));
}

async function compare(count: number, seconds: number): Promise<void> {
  await withMarketsFile(marketsToml(count), async (path) => {
    const stacks = [await StackProcess.start(undefined), await StackProcess.start(path)] as const;
    await sleep(WARM_UP_MS);
    for (let round = 0; round < ROUNDS; round++) {
      for (const stack of stacks) await stack.pull(seconds / ROUNDS);
      for (const stack of stacks) await stack.askQuotes(seconds / ROUNDS / 2);
    }
    const [three, many] = stacks;
    await report("3", three);
    await report(String(count), many);
    const share = quantile(many.quotesPerSecond, 0.5) / quantile(three.quotesPerSecond, 0.5);
    console.log(`Quotes a second with ${count} markets beside three: ${share.toFixed(2)}`);
    for (const stack of stacks) await stack.stop();
  });
}

if (Deno.args[0] === "stack") await runStack(Deno.args[1] || undefined);
else await compare(Number(Deno.args[0] ?? 50), Number(Deno.args[1] ?? 30));
