/**
 * How a node keeps its prices on a machine without spare CPU time: a node process, an oracle that
 * always has new prices, and busy loops, two by default.
 *
 *     deno run -A tests/bench/node_pressure.ts [seconds] [path of main.ts] [busy loops]
 */
import { CoreClient } from "../../lib/net/core_client.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { startFakeOracle } from "../node/support/fake_oracle.ts";

const seconds = Number(Deno.args[0] ?? 60);
const mainPath = Deno.args[1] ?? new URL("../../main.ts", import.meta.url).pathname;
const busyLoops = Number(Deno.args[2] ?? 2);
const port = 28_545;

function deno(...args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), { args, stdout: "null", stderr: "null" }).spawn();
}

async function counter(name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const values = text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"));
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}

async function isUp(): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok;
  } catch {
    return false;
  }
}

const oracle = startFakeOracle();
const { answer } = oracle;
oracle.answer = (request) => {
  // A price that contains the time it was made, so that a repeated one shows.
  oracle.prices["ETH/USDT"] = BigInt(Date.now());
  return answer(request);
};
const children = [
  deno(
    "run",
    "-A",
    "--no-check",
    mainPath,
    "node",
    "-p",
    `${port}`,
    "--read-port",
    "0",
    "-o",
    oracle.url,
    "-d",
    ":memory:",
  ),
];
try {
  while (!await isUp()) await new Promise((resolve) => setTimeout(resolve, 100));
  for (let loops = 0; loops < busyLoops; loops++) children.push(deno("eval", "for (;;);"));
  const from = Math.ceil(Date.now() / 100) * 100 + 1_000;
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  const client = new CoreClient({ url: `http://127.0.0.1:${port}` });
  const to = (await client.getHead()).timestampMs;
  const { base, quote } = MARKETS[1]!; // the table has three rows
  const missing: number[] = [];
  const agesMs: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.getPriceHistory({ base, quote, from, to, cursor });
    for (const span of page.missing) missing.push(span.to - span.from);
    for (const { time, price } of page.prices) agesMs.push(time - Number(price));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  const late = await counter("node_oracle_late_answers_total");
  console.log({
    checkpoints: (to - from) / 100,
    pulls: await counter("node_oracle_pulls_total"),
    pullsInTime: await counter('node_oracle_pulls_total\\{outcome="ok"\\}'),
    lateAnswersUsed: late,
    checkpointsMissed: await counter("node_checkpoints_missed_total"),
    slotsWithoutPrice: missing.reduce((sum, ms) => sum + ms / 100, 0),
    longestGapMs: Math.max(0, ...missing),
    medianAgeMs: agesMs.toSorted((a, b) => a - b)[Math.floor(agesMs.length / 2)],
    slotsOver150MsOld: agesMs.filter((ms) => ms > 150).length,
    oldestPriceMs: Math.max(...agesMs),
  });
} finally {
  for (const child of children.toReversed()) child.kill("SIGKILL");
  await Promise.all(children.map(({ status }) => status));
  await oracle.stop();
}
