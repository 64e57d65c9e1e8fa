import assert from "node:assert/strict";
import type { TimeSpan } from "../../../lib/prices/price_slots.ts";
import { parsePrice } from "../../../lib/protocol/price.ts";
import { BACKFILL_SLOTS_MAX, type Transaction } from "../../../lib/protocol/transaction.ts";
import { Backfiller } from "../../../services/node/backfill/backfiller.ts";
import { run } from "../../../services/node/backfill/mod.ts";
import { slotPrices } from "../../../services/node/backfill/slot_prices.ts";
import {
  ATTEMPTS_MAX,
  BinanceTradeHistory,
  PAGE_TRADES,
  type Trade,
} from "../../../services/node/backfill/trade_history.ts";
import { recordedContext } from "../../support/command_context.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { eventually } from "../../support/eventually.ts";
import { withSeed } from "../../support/random.ts";
import { actors, CHAIN_ID, deposit, ETH, hashOf, rfqSubmit } from "../support/actors.ts";
import { startFakeHistory } from "../support/fake_history.ts";
import { type NodeUnderTest, withNode } from "../support/running_node.ts";

const START = 1_700_000_000_000;

async function* from(trades: Trade[]): AsyncGenerator<Trade> {
  yield* trades;
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function trade(offsetMs: number, price: bigint): Trade {
  return { time: START + offsetMs, price };
}

Deno.test("slotPrices: a slot has the price of the last trade at or before its start", async () => {
  const trades = [trade(-50, 1n), trade(100, 2n), trade(101, 3n), trade(199, 4n), trade(350, 5n)];
  const runs = await slotPrices(from(trades), { from: START, to: START + 500 }, 3_000);
  assert.deepEqual(runs, [{ startTime: START, prices: [1n, 2n, 4n, 4n, 5n] }]);
});

Deno.test("slotPrices: a trade carries so far and no farther", async () => {
  const trades = [trade(0, 1n), trade(450, 2n)];
  const span = { from: START, to: START + 800 };
  assert.deepEqual(await slotPrices(from(trades), span, 200), [
    { startTime: START, prices: [1n, 1n, 1n] },
    { startTime: START + 500, prices: [2n, 2n] },
  ]);
  assert.deepEqual(await slotPrices(from(trades), span, 0), [{ startTime: START, prices: [1n] }]);
  assert.deepEqual(await slotPrices(from([]), span, 200), []);
});

Deno.test("slotPrices: agrees with looking up every slot by itself", () =>
  withSeed(async (random) => {
    for (let round = 0; round < 200; round++) {
      const trades: Trade[] = [];
      for (let offset = -500; offset < 5_000;) {
        trades.push(trade(offset, BigInt(trades.length + 1)));
        offset += Math.floor(random() * random() * 900);
      }
      const maxCarryMs = Math.floor(random() * 500);
      const span = { from: START, to: START + 4_000 };
      const found = new Map<number, bigint>();
      for (const { startTime, prices } of await slotPrices(from(trades), span, maxCarryMs)) {
        for (const [index, price] of prices.entries()) found.set(startTime + index * 100, price);
      }
      for (let time = span.from; time < span.to; time += 100) {
        const last = trades.findLast((one) => one.time <= time);
        const expected = last && time - last.time <= maxCarryMs ? last.price : undefined;
        assert.equal(found.get(time), expected);
      }
    }
  }));

Deno.test("BinanceTradeHistory: pages by fromId and stops at the end of the span", async () => {
  const trades = Array.from({ length: 2 * PAGE_TRADES + 10 }, (_, index) => trade(index, 7n));
  const history = startFakeHistory(trades);
  const source = new BinanceTradeHistory(`${history.url}/`, new FakeClock());
  const span = { from: START + 5, to: START + 2 * PAGE_TRADES };
  assert.deepEqual(
    await collect(source.trades("ETH/USDT", span)),
    trades.slice(5, 2 * PAGE_TRADES),
  );
  assert.deepEqual(history.queries.map((query) => Object.fromEntries(query)), [
    {
      symbol: "ETHUSDT",
      startTime: `${span.from}`,
      endTime: `${span.to - 1}`,
      limit: `${PAGE_TRADES}`,
    },
    { symbol: "ETHUSDT", fromId: `${PAGE_TRADES + 6}`, limit: `${PAGE_TRADES}` },
  ]);
  await history.stop();
});

Deno.test("BinanceTradeHistory: waits as long as it is told, and tries again", async () => {
  const history = startFakeHistory([trade(0, 7n)]);
  history.failures = [
    new Response("slow down", { status: 429, headers: { "retry-after": "30" } }),
    new Response("banned", { status: 418, headers: { "retry-after": "7200" } }),
    new Response("oops", { status: 502 }),
  ];
  const clock = new FakeClock();
  const source = new BinanceTradeHistory(history.url, clock);
  const reading = collect(source.trades("ETH/USDT", { from: START, to: START + 100 }));
  for (const waitMs of [30_000, 60_000, 3_000]) {
    await eventually("a wait", () => clock.pending > 0 ? true : undefined);
    clock.advance(waitMs - 1);
    assert.equal(clock.pending, 1);
    clock.advance(1);
  }
  assert.deepEqual(await reading, [trade(0, 7n)]);
  await history.stop();
});

Deno.test("BinanceTradeHistory: gives up after five attempts, and at once where it is refused", async () => {
  const history = startFakeHistory([]);
  const clock = new FakeClock();
  const source = new BinanceTradeHistory(history.url, clock);
  const span = { from: START, to: START + 100 };
  history.failures = Array.from({ length: 9 }, () => new Response("", { status: 500 }));
  const reading = collect(source.trades("ETH/USDT", span));
  const refused = assert.rejects(reading, { name: "TradeHistoryError", message: /status 500/ });
  for (let wait = 1; wait < ATTEMPTS_MAX; wait++) {
    await eventually("a wait", () => clock.pending > 0 ? true : undefined);
    clock.advance(60_000);
  }
  await refused;
  assert.equal(history.queries.length, ATTEMPTS_MAX);
  history.failures = [Response.json({ code: -1121, msg: "Invalid symbol." }, { status: 400 })];
  await assert.rejects(() => collect(source.trades("ETH/USDT", span)), /Invalid symbol/);
  history.failures = [Response.json([{ a: 1, p: "zero", T: START }])];
  await assert.rejects(() => collect(source.trades("ETH/USDT", span)), /not what was expected/);
  await history.stop();
});

/** A backfiller whose node takes everything and writes it down. */
function fakeBackfiller(trades: Trade[], stopAfter = Infinity) {
  const sent: Transaction[] = [];
  const asked: TimeSpan[] = [];
  const progress: [number, number][] = [];
  const backfiller = new Backfiller({
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
    history: {
      trades(_symbol, span) {
        asked.push(span);
        return from(trades.filter(({ time }) => time >= span.from && time < span.to));
      },
    },
    clock: new FakeClock(),
    maxCarryMs: 3_000,
    isStopping: () => asked.length >= stopAfter,
    onProgress: (done, total) => progress.push([done, total]),
  });
  return { backfiller, sent, asked, progress };
}

/** A trade every second for half an hour. */
const halfAnHour = Array.from({ length: 1_800 }, (_, second) => trade(second * 1_000, 5n));

Deno.test("Backfiller: works in batches of at most ten minutes, and tells how far it is", async () => {
  const { backfiller, sent, asked, progress } = fakeBackfiller(halfAnHour);
  const span = { from: START, to: START + 1_500_000 };
  assert.deepEqual(await backfiller.fill(ETH, [span]), [
    { span, filledSlots: 15_000, slotsWithoutTrade: 0, slotsNotTaken: 0 },
  ]);
  assert.deepEqual(asked.map(({ from, to }) => [from - START, to - START]), [
    [-3_000, 600_000],
    [597_000, 1_200_000],
    [1_197_000, 1_500_000],
  ]);
  const lengths = sent.map((tx) => tx.type === "BackfillOracle" ? tx.prices.length : 0);
  assert.deepEqual(lengths, [BACKFILL_SLOTS_MAX, BACKFILL_SLOTS_MAX, 3_000]);
  assert.deepEqual(progress, [[6_000, 15_000], [12_000, 15_000], [15_000, 15_000]]);
});

Deno.test("Backfiller: leaves out what had no trade, and says how much", async () => {
  const trades = halfAnHour.filter(({ time }) => time < START + 10_000 || time > START + 60_000);
  const { backfiller, sent } = fakeBackfiller(trades);
  const [report] = await backfiller.fill(ETH, [{ from: START, to: START + 70_000 }]);
  assert.equal(sent.length, 2);
  assert.deepEqual([report?.filledSlots, report?.slotsWithoutTrade], [700 - 489, 489]);
});

Deno.test("Backfiller: begins no batch after it was told to stop", async () => {
  const { backfiller, sent } = fakeBackfiller(halfAnHour, 1);
  const span = { from: START, to: START + 1_500_000 };
  const [report] = await backfiller.fill(ETH, [span]);
  assert.deepEqual([sent.length, report?.filledSlots], [1, 6_000]);
});

/** Runs the command in this process. */
async function runBackfill(...argv: string[]): Promise<{ code: number; lines: string[] }> {
  const { context, printed: lines } = recordedContext({
    ADMIN_PRIVATE_KEY: `0x${"a2".repeat(32)}`,
  });
  const code = await run([...argv, "--log-level", "error"], context);
  return { code, lines };
}

/** A thesis whose prices went missing in the middle. */
async function lackingThesis({ client, oracle }: NodeUnderTest): Promise<TimeSpan> {
  const user = actors.user.address;
  const timestamp = Date.now();
  const fields = { timestamp, user, amount: 5_000_000n, externalTxHash: hashOf(1) };
  await client.sendTransaction(deposit(fields));
  const now = Date.now();
  const receipt = await client.sendTransaction(rfqSubmit({ timestamp: now, endTime: now + 1_500 }));
  assert.equal(receipt.status, "committed");
  oracle.answer = () => new Response("", { status: 503 });
  await eventually("the thesis lacks prices", async () => {
    const thesis = await client.getThesis(1);
    return thesis?.status === "needs_backfill" ? true : undefined;
  });
  return { from: now, to: now + 1_500 };
}

Deno.test("rangemaker backfill: fills what a thesis lacks, and the thesis is settled", () =>
  withNode(async (parts) => {
    const window = await lackingThesis(parts);
    const inside = parsePrice("3000.10")!;
    const trades = Array.from({ length: 40 }, (_, index) => ({
      time: window.from - 1_000 + index * 90,
      price: inside,
    }));
    const half = trades.filter(({ time }) => time < window.from + 600);
    const history = startFakeHistory(half);
    const args = ["--rpc-url", parts.node.url, "--history-url", history.url, "--thesis", "1"];

    const first = await runBackfill(...args, "--max-carry-ms", "100");
    assert.equal(first.code, 1);
    assert.match(first.lines.join("\n"), /slots filled, [1-9]\d* without a trade/);
    assert.equal(first.lines.at(-1), "Thesis 1: needs_backfill");

    history.trades = trades;
    const second = await runBackfill(...args, "--max-carry-ms", "100");
    assert.equal(second.code, 0, second.lines.join("\n"));
    assert.match(second.lines[0]!, /^ETH\/USDT 20.*Z to 20.*Z: [1-9]\d* slots filled, 0 without/);
    assert.equal(second.lines.at(-1), "Thesis 1: won");

    assert.deepEqual(await runBackfill(...args), {
      code: 0,
      lines: ["ETH/USDT: nothing is missing", "Thesis 1: won"],
    });
    await history.stop();
  }, { maxStaleMs: 100 }));

Deno.test("rangemaker backfill: fills a stretch of time in a market", () =>
  withNode(async (parts) => {
    const { from, to } = await lackingThesis(parts);
    const history = startFakeHistory([{ time: from - 10, price: 5n }]);
    const span = ["--from", new Date(from).toISOString(), "--to", `${to}`];
    const args = ["--rpc-url", parts.node.url, "--history-url", history.url, ...span];
    const { code, lines } = await runBackfill(...args, "--market", "eth/usdt");
    assert.equal(code, 0, lines.join("\n"));
    assert.equal((await parts.client.getThesis(1))?.status, "lost");
    await history.stop();
  }, { maxStaleMs: 100 }));

Deno.test("rangemaker backfill: says what the node did not take", () =>
  withNode(async ({ node }) => {
    const to = Math.floor(Date.now() / 100) * 100;
    const history = startFakeHistory([{ time: to - 10_000, price: 5n }]);
    const args = ["--rpc-url", node.url, "--history-url", history.url, "--market", "ETH/USDT"];
    const span = ["--from", `${to - 10_000}`, "--to", `${to - 8_000}`];
    const { code, lines } = await runBackfill(...args, ...span);
    assert.equal(code, 1);
    assert.match(lines[0]!, /: 0 slots filled, 0 without a trade, 20 not accepted: too old/);
    await history.stop();
  }, { ringBufferSize: 16 }));

Deno.test("rangemaker backfill: wrong options are usage errors; an unknown thesis and a key without right fail", () =>
  withNode(async ({ node }) => {
    const wrong = [
      [],
      ["--thesis", "1", "--market", "ETH/USDT"],
      ["--market", "ETH/USDT"],
      ["--market", "XRP/USDT", "--from", "1", "--to", "2"],
      ["--market", "ETH/USDT", "--from", "2", "--to", "1"],
      ["--market", "ETH/USDT", "--from", "0", "--to", "86400001"],
      ["--market", "ETH/USDT", "--from", "noon", "--to", "2"],
      ["--thesis", "1", "--max-carry-ms", "60001"],
    ];
    for (const argv of wrong) assert.equal((await runBackfill(...argv)).code, 2, argv.join(" "));
    const unknown = await runBackfill("--rpc-url", node.url, "--thesis", "9");
    assert.equal(unknown.code, 1);
  }));
