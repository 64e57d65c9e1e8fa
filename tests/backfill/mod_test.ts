import assert from "node:assert/strict";
import type { Clock } from "../../lib/clock.ts";
import type { TimeSpan } from "../../lib/prices/price_slots.ts";
import { parsePrice } from "../../lib/protocol/price.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import type { Transaction } from "../../lib/protocol/transaction.ts";
import { fillSpans } from "../../services/backfill/fill_spans.ts";
import { options, run } from "../../services/backfill/mod.ts";
import type { NodeOptions } from "../../services/node/mod.ts";
import { SETTLEMENTS_PER_SLICE } from "../../services/node/chain/state.ts";
import { HISTORY_LAG_MS, type PastTrade } from "../../services/backfill/trade_history.ts";
import { recordedContext } from "../support/command_context.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { tomlOf, withMarketsFile } from "../support/files.ts";
import { actors, CHAIN_ID, deposit, ETH, hashOf, rfqSubmit } from "../node/support/actors.ts";
import { from, START, startFakeHistory, trade } from "./fake_history.ts";
import { type SteppedParts, withSteppedNode } from "../node/support/stepped_node.ts";

const SOL = SPEC_MARKETS.bySymbol("SOL/USDT") ?? assert.fail("SOL/USDT is a market");

/** Fills a span of ETH/USDT; the node accepts and records everything. */
async function fillWith(span: TimeSpan, trades: PastTrade[], stopAfter = Infinity) {
  const sent: Transaction[] = [];
  const asked: TimeSpan[] = [];
  const progress: [number, number][] = [];
  const reports = await fillSpans(ETH, [span], {
    client: {
      sendTransaction(tx) {
        sent.push(tx);
        const filledSlots = tx.type === "BackfillOracle" ? tx.prices.length : 0;
        return Promise.resolve({
          txHash: hashOf(1),
          status: "committed" as const,
          blockNumber: 1,
          filledSlots,
        });
      },
    },
    signer: actors.admin,
    chainId: CHAIN_ID,
    trades(_symbol, span) {
      asked.push(span);
      return from(trades.filter(({ time }) => time >= span.from && time < span.to));
    },
    clock: new FakeClock(),
    maxCarryMs: 3_000,
    isStopping: () => asked.length >= stopAfter,
    onProgress: (done, total) => progress.push([done, total]),
  });
  return { reports, sent, asked, progress };
}

/** A trade every second for half an hour. */
const halfAnHour = Array.from({ length: 1_800 }, (_, second) => trade(second * 1_000, 5n));

Deno.test("fillSpans: works in batches of at most ten minutes, and reports progress", async () => {
  const span = { from: START, to: START + 1_500_000 };
  const { reports, sent, asked, progress } = await fillWith(span, halfAnHour);
  assert.deepEqual(reports, [
    { span, filledSlots: 15_000, slotsWithoutTrade: 0, slotsRefused: 0 },
  ]);
  assert.deepEqual(asked.map(({ from, to }) => [from - START, to - START]), [
    [-3_000, 600_000],
    [597_000, 1_200_000],
    [1_197_000, 1_500_000],
  ]);
  const lengths = sent.map((tx) => tx.type === "BackfillOracle" ? tx.prices.length : 0);
  assert.deepEqual(lengths, [6_000, 6_000, 3_000]);
  assert.deepEqual(progress, [[6_000, 15_000], [12_000, 15_000], [15_000, 15_000]]);
});

Deno.test("fillSpans: starts no batch after a stop", async () => {
  const span = { from: START, to: START + 1_500_000 };
  const { reports: [report], sent } = await fillWith(span, halfAnHour, 1);
  assert.deepEqual([sent.length, report?.filledSlots], [1, 6_000]);
});

/** Runs the command in this process, by the clock of a test, with the key of this byte. */
async function runAs(keyByte: string, clock: Clock, ...argv: string[]) {
  const env = { RANGEMAKER_BACKFILL_PRIVATE_KEY: `0x${keyByte.repeat(32)}` };
  const { context, printed: lines, errors } = recordedContext(env, clock);
  const code = await run([...argv, "--log-level", "error"], context);
  return { code, lines, errors };
}

/** Runs it against a node as its admin. */
function runBackfill({ node, clock }: SteppedParts, ...argv: string[]) {
  return runAs("a2", clock, "--rpc-url", node.url, ...argv);
}

/**
 * Theses of 1.5 s that lack all prices but those of their first two slots, and have ended so long ago
 * that the exchange lists all trades.
 */
async function lackingThesis(
  { stepped, client, oracle }: SteppedParts,
  count = 1,
): Promise<TimeSpan> {
  const timestamp = stepped.now;
  await client.sendTransaction(deposit({ timestamp, amount: 100_000_000n }));
  const window = { from: timestamp, to: timestamp + 1_500 };
  for (let index = 0; index < count; index++) {
    const bet = { betAmount: 100_000n, payout: 107_000n + BigInt(index), endTime: window.to };
    const receipt = await client.sendTransaction(rfqSubmit({ timestamp, ...bet }));
    assert.equal(receipt.status, "committed");
  }
  oracle.answer = () => new Response("", { status: 503 });
  await stepped.run(15 + HISTORY_LAG_MS / 100);
  assert.equal((await client.getThesis(1))?.status, "needs_backfill");
  return window;
}

/** A test with a node whose prices of a checkpoint carry over to the next, and no farther. */
function test(
  title: string,
  run: (scene: SteppedParts) => Promise<void>,
  given: Partial<NodeOptions> = { maxStaleMs: 100 },
): void {
  Deno.test(`rangemaker backfill: ${title}`, () => withSteppedNode(run, given));
}

test("with --price, every missing slot gets that price, and no trades are read", async (scene) => {
  const { client } = scene;
  const { from, to } = await lackingThesis(scene);
  const args = ["--history-url", "http://127.0.0.1:1", "--thesis", "1"];
  const { code, lines } = await runBackfill(scene, ...args, "--price", "3000.25");
  const at = (timeMs: number) => new Date(timeMs).toISOString();
  assert.deepEqual([code, lines], [0, [
    `ETH/USDT ${at(from + 200)} to ${at(to)}: 13 slots filled, 0 without a trade`,
    "Thesis 1: won",
  ]]);
  const { base, quote } = ETH;
  const { prices } = await client.getPriceHistory({ base, quote, from: from + 200, to });
  assert.deepEqual(new Set(prices.map(({ price }) => price)), new Set([3_000_250_000n]));
});

test("a --price over 10 % from one beside the gap is refused without --any-price", async (scene) => {
  const { client, oracle, stepped } = scene;
  const healthy = oracle.answer;
  const { from, to } = await lackingThesis(scene);
  const args = ["--thesis", "1"];
  const { base, quote } = ETH;
  const before = await client.getPriceHistory({ base, quote, from, to: from + 200 });
  assert.deepEqual(before.prices.map(({ price }) => price), [3_000_000_000n, 3_000_000_000n]);
  for (const price of ["300", "2699.99", "3300.01", "30000"]) {
    const { code, lines, errors } = await runBackfill(scene, ...args, "--price", price);
    assert.deepEqual([code, lines], [2, []]);
    const named =
      `^Invalid --price: ${price}\\S* is more than 10 % from 3000\\S*, the last one before`;
    assert.match(errors.join(), new RegExp(named));
  }
  oracle.answer = healthy;
  oracle.prices = { "ETH/USDT": 3_400_000_000n };
  await stepped.run(2);
  const { code, errors } = await runBackfill(scene, ...args, "--price", "3010");
  assert.equal(code, 2);
  assert.match(errors.join(), /is more than 10 % from 3400\S*, the first one after/);
  assert.equal((await client.getThesis(1))?.status, "needs_backfill");
  const meant = await runBackfill(scene, ...args, "--price", "3010", "--any-price");
  assert.deepEqual([meant.code, meant.lines.length], [0, 2]);
  assert.equal((await client.getPriceHistory({ base, quote, from, to })).missing.length, 0);
});

test("a trade over 10 % from a price beside the gap fills nothing without --any-price", async (scene) => {
  const { from } = await lackingThesis(scene);
  await using history = startFakeHistory([
    { time: from, price: 3_000_000_000n },
    { time: from + 650, price: 60_000_000_000n },
  ]);
  const args = ["--history-url", history.url, "--thesis", "1"];
  const refused = await runBackfill(scene, ...args);
  assert.deepEqual([refused.code, refused.lines], [1, []]);
  assert.match(
    refused.errors.join(),
    /Trade at 60000\S* is more than 10 % from 3000\S*, the last one before .*correct --history-url/,
  );
  assert.equal((await scene.client.getThesis(1))?.status, "needs_backfill");

  const meant = await runBackfill(scene, ...args, "--any-price");
  assert.deepEqual([meant.code, meant.lines.at(-1)], [0, "Thesis 1: lost"]);
});

test("fills the missing prices of a thesis, which is then settled", async (scene) => {
  const { from } = await lackingThesis(scene);
  const trades = Array.from({ length: 40 }, (_, index) => ({
    time: from - 1_000 + index * 90,
    price: parsePrice("3000.10")!,
  }));
  await using history = startFakeHistory(trades.filter(({ time }) => time < from + 600));
  const args = ["--history-url", history.url, "--thesis", "1"];
  const at = (offsetMs: number) => new Date(from + offsetMs).toISOString();

  // The last trade is at 530 ms, and is the price of the slot at 600 ms.
  const first = await runBackfill(scene, ...args, "--max-carry-ms", "100");
  assert.deepEqual([first.code, first.lines], [1, [
    `ETH/USDT ${at(200)} to ${at(1_500)}: 5 slots filled, 8 without a trade`,
    "Slots without a trade stay missing: try --max-carry-ms 60000, another --history-url or, " +
    "as the last resort, --price",
    "Thesis 1: needs_backfill",
  ]]);

  history.trades = [];
  const longest = await runBackfill(scene, ...args, "--max-carry-ms", "60000");
  assert.deepEqual([longest.code, longest.lines], [1, [
    `ETH/USDT ${at(700)} to ${at(1_500)}: 0 slots filled, 8 without a trade`,
    "Slots without a trade stay missing: try another --history-url or, as the last resort, --price",
    "Thesis 1: needs_backfill",
  ]]);

  history.trades = trades;
  const second = await runBackfill(scene, ...args, "--max-carry-ms", "100");
  assert.deepEqual([second.code, second.lines], [0, [
    `ETH/USDT ${at(700)} to ${at(1_500)}: 8 slots filled, 0 without a trade`,
    "Thesis 1: won",
  ]]);

  const third = await runBackfill(scene, ...args);
  assert.deepEqual([third.code, third.lines], [0, [
    "ETH/USDT: nothing is missing",
    "Thesis 1: won",
  ]]);
});

test(
  "succeeds once nothing is missing, also after more gaps than the node lists",
  async (scene) => {
    const { client, oracle, stepped } = scene;
    const [timestamp, slots] = [stepped.now, 520]; // the node lists 256 gaps
    await client.sendTransaction(deposit({ timestamp }));
    const bet = { betAmount: 100_000n, payout: 107_000n, endTime: timestamp + 100 * slots };
    await client.sendTransaction(rfqSubmit({ timestamp, ...bet }));
    const healthy = oracle.answer;
    for (let slot = 0; slot < slots; slot += 2) {
      oracle.answer = () => new Response("", { status: 503 });
      await stepped.run(1);
      oracle.answer = healthy;
      await stepped.run(1);
    }
    const args = ["--price", "3000.25", "--thesis", "1"];
    const { code, lines } = await runBackfill(scene, ...args);
    assert.equal(lines.at(-1), "Thesis 1: won");
    assert.match(lines.at(-2)!, /, \d+ not accepted: .*, or not missing$/);
    assert.equal(code, 0);
  },
  { maxStaleMs: 50 },
);

test("the thesis is settled at once, although hundreds lacked the same prices", async (scene) => {
  const count = SETTLEMENTS_PER_SLICE + 1;
  await lackingThesis(scene, count);
  const args = ["--price", "3000.25", "--thesis", `${count}`];
  const { lines } = await runBackfill(scene, ...args);
  assert.equal(lines.at(-1), `Thesis ${count}: won`);
});

test("fills a stretch of time in a market", async (scene) => {
  const { from, to } = await lackingThesis(scene);
  await using history = startFakeHistory([{ time: from - 10, price: 2_750_000_000n }]);
  const args = ["--history-url", history.url];
  for (const [end, filled] of [[from + 300, "1 slot"], [to, "12 slots"]] as const) {
    const span = ["--from", new Date(from).toISOString(), "--to", `${end}`];
    const { code, lines } = await runBackfill(scene, ...args, ...span, "--market", "eth/usdt");
    assert.equal(code, 0, lines.join("\n"));
    assert(lines[0]?.endsWith(`: ${filled} filled, 0 without a trade`), lines[0]);
  }
  assert.deepEqual((await scene.client.getThesis(1))?.breach, {
    time: from + 200,
    price: 2_750_000_000n,
  });
});

test("after Ctrl-C it fills nothing more, says how to go on, and fails", async (scene) => {
  const { from, to } = await lackingThesis(scene);
  const env = { RANGEMAKER_BACKFILL_PRIVATE_KEY: `0x${"a2".repeat(32)}` };
  const { context, printed } = recordedContext(env, scene.clock);
  const argv = ["--rpc-url", scene.node.url, "--thesis", "1", "--price", "3000.25"];
  const code = await run(argv, { ...context, untilSignal: () => Promise.resolve() });
  const span = [from + 200, to].map((timeMs) => new Date(timeMs).toISOString()).join(" to ");
  assert.deepEqual([code, printed], [1, [
    `ETH/USDT ${span}: 0 slots filled, 0 without a trade`,
    "Stopped: run it again to continue",
    "Thesis 1: needs_backfill",
  ]]);
});

test("reports slots that the node did not accept", async (scene) => {
  const to = scene.stepped.now;
  await using history = startFakeHistory([{ time: to - 10_000, price: 3_000_000_000n }]);
  const args = ["--history-url", history.url, "--market", "ETH/USDT"];
  const span = ["--from", `${to - 10_000}`, "--to", `${to - 8_000}`];
  const { code, lines } = await runBackfill(scene, ...args, ...span);
  assert.equal(code, 1);
  assert.match(lines[0]!, /: 0 slots filled, 0 without a trade, 20 not accepted: too old/);
}, { ringBufferSize: 16 });

test("what it cannot do is an error, and nothing is filled", (scene) =>
  withMarketsFile(tomlOf([SOL]), async (markets) => {
    const { node, clock, client } = scene;
    const { from } = await lackingThesis(scene);
    await using history = startFakeHistory([{ time: from, price: 3_000_000_000n }]);
    const onEth = new RegExp(`Thesis 1 is on ${ETH.base}/${ETH.quote}: .*--markets`);
    const refused: [key: string, code: number, words: RegExp, ...argv: string[]][] = [
      ["a2", 1, /no thesis with the id 9/, "--thesis", "9"],
      ["a2", 1, /has chain id 1337: expected 7/, "--thesis", "1", "--chain-id", "7"],
      ["a2", 1, onEth, "--thesis", "1", "--markets", markets],
      ["a5", 1, /PERMISSION_DENIED/, "--thesis", "1"],
      ["a2", 2, /Expected a price above 0/, "--thesis", "1", "--price=0"],
      ["a2", 2, /Expected a price above 0/, "--thesis", "1", "--price=-1"],
      ["a2", 2, /Expected a price above 0/, "--thesis", "1", "--price=cheap"],
    ];
    for (const [key, expected, words, ...argv] of refused) {
      const given = ["--rpc-url", node.url, "--history-url", history.url, ...argv];
      const { code, errors } = await runAs(key, clock, ...given);
      assert.equal(code, expected, argv.join(" "));
      assert.match(errors.join(), words);
    }
    assert.equal((await client.getThesis(1))?.status, "needs_backfill");
  }));

const wrongOptions = [
  [],
  ["--thesis", "1", "--market", "ETH/USDT"],
  ["--thesis", "1", "--market", "ETH/USDT", "--from", "0", "--to", "1"],
  ["--market", "ETH/USDT"],
  ["--market", "XRP/USDT", "--from", "1", "--to", "2"],
  ["--market", "ETH/USDT", "--from", "2", "--to", "1"],
  ["--market", "ETH/USDT", "--from", "0", "--to", "86400001"],
  ["--market", "ETH/USDT", "--from", "noon", "--to", "2"],
  ["--market", "ETH/USDT", "--from", "Jan 5 9:00", "--to", "Jan 5 10:00"],
  ["--market", "ETH/USDT", "--from", "2026-01-31T09:00", "--to", "2026-01-31T09:10"], // in which zone?
  ["--market", "ETH/USDT", "--from", "2026-02-30", "--to", "2026-03-03"], // it would be March 2
  ["--thesis", "1", "--max-carry-ms", "60001"],
];

for (const argv of wrongOptions) {
  Deno.test(`rangemaker backfill: ${argv.join(" ") || "no option"} is a usage error`, async () => {
    assert.equal((await runAs("a2", new FakeClock(), ...argv)).code, 2);
  });
}

Deno.test("rangemaker backfill: a time is one of ISO 8601, as short or exact as it comes, or Unix milliseconds", () => {
  const { schema } = options.from.kind;
  const texts = ["09:00Z", "09:00+00:00", "10:00:00+01:00", "09:00:00.000Z"];
  const times = texts.map((text) => schema.parse(`2026-01-31T${text}`));
  assert.deepEqual(new Set(times), new Set([1_769_850_000_000]));
  assert.deepEqual(["2026-01-31", "7"].map((text) => schema.parse(text)), [1_769_817_600_000, 7]);
});
