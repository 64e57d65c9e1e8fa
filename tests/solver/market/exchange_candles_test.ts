import assert from "node:assert/strict";
import type { z } from "zod";
import { type ExchangeHistory, ExchangeHistoryError } from "../../../lib/net/exchange_history.ts";
import { MINUTE_MS } from "../../../lib/time.ts";
import {
  candlePageSchema,
  readExchangeCandles,
} from "../../../services/solver/market/exchange_candles.ts";
import { market } from "../support.ts";

const from = 1_000 * MINUTE_MS;

/** Rows of these minutes, counted from `from`. */
function rows(...minutes: number[]): unknown[] {
  return minutes.map((minute) => [from + minute * MINUTE_MS, "2", "3", "1", "2.5", "7", 9]);
}

/** Reads these minutes from an exchange with a list of answers. */
async function read(toMinute: number, ...answers: unknown[][]) {
  const asked: { path: string; query: Record<string, string> }[] = [];
  const history = {
    readPage: (path: string, query: Record<string, string>, schema: z.ZodType) => {
      asked.push({ path, query });
      return Promise.resolve(
        schema.parse(answers.shift() ?? assert.fail("No more was to be read")),
      );
    },
  } as Pick<ExchangeHistory, "readPage"> as ExchangeHistory; // nothing else of it is used
  const span = { from, to: from + toMinute * MINUTE_MS };
  const { signal } = new AbortController();
  const candles = await Array.fromAsync(readExchangeCandles(history, market, span, signal));
  return { asked, candles, minutes: candles.map(({ timeMs }) => (timeMs - from) / MINUTE_MS) };
}

/** Whole numbers below a bound. */
function below(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

Deno.test("Exchange candles: a candle has the prices of its row, with 6 decimals", async () => {
  const { asked, candles } = await read(1, rows(0));
  const prices = { open: 2e6, high: 3e6, low: 1e6, close: 2.5e6 };
  assert.deepEqual(candles, [{ timeMs: from, durationMs: MINUTE_MS, ...prices }]);
  assert.deepEqual(asked, [{
    path: "/api/v3/klines",
    query: {
      symbol: "ETHUSDT",
      interval: "1m",
      startTime: String(from),
      endTime: String(from + MINUTE_MS - 1),
      limit: "1000",
    },
  }]);
});

Deno.test("Exchange candles: after a full page, the next page starts a minute later", async () => {
  const { asked, minutes } = await read(1_002, rows(...below(1_000)), rows(1_000, 1_001));
  assert.deepEqual(minutes, below(1_002));
  assert.deepEqual(asked.map(({ query }) => Number(query.startTime)), [
    from,
    from + 1_000 * MINUTE_MS,
  ]);
  assert.equal((await read(1_000, rows(...below(1_000)))).minutes.length, 1_000);
  assert.deepEqual((await read(0)).asked, [], "an empty span");
});

Deno.test("Exchange candles: pages may be short and have gaps, and an empty one is the last", async () => {
  assert.deepEqual((await read(9, rows(2, 5), rows(6, 8))).minutes, [2, 5, 6, 8]);
  assert.deepEqual((await read(9, rows(2, 5), [])).minutes, [2, 5]);
  assert.deepEqual((await read(9, [])).minutes, []);
});

for (const minutes of [[-1], [9], [0.5], [3, 3], [3, 2]]) {
  Deno.test(`Exchange candles: candles of the minutes ${minutes} are no valid answer for the minutes 0 to 8`, () =>
    assert.rejects(read(9, rows(...minutes)), ExchangeHistoryError));
}

const fits: readonly [row: unknown[], isAccepted: boolean][] = [
  [[1, "2", "3", "1", "2"], true],
  [[1, "2", "2", "2", "2"], true],
  [[1, "123456789012.5", "123456789012.5", "0.000000000000000001", "1", {}], true],
  [[1.5, "2", "3", "1", "2"], false],
  [["1", "2", "3", "1", "2"], false],
  [[1, "2", "3", "1"], false],
  [[1, 2, "3", "1", "2"], false],
  [[1, "2", "1.9", "1", "1.5"], false],
  [[1, "1.5", "1.9", "1", "2"], false],
  [[1, "2", "3", "2.1", "2.5"], false],
  [[1, "2.5", "3", "2.1", "2"], false],
  [[1, "0", "3", "0", "2"], false],
  [[1, "2", "1234567890123", "1", "2"], false],
  [[1, "2", "3", "1", "2.1234567890123456789"], false],
  [[1, "2", "3", "1", ".5"], false],
  [[1, "2", "3", "1", "2."], false],
  [[1, "2", "3", "-1", "2"], false],
  [[1, "2", "3", "1", "2 "], false],
];

for (const [row, isAccepted] of fits) {
  Deno.test(`Exchange candles: the row ${JSON.stringify(row)} is ${isAccepted ? "read" : "refused"}`, () =>
    assert.equal(candlePageSchema.safeParse([row]).success, isAccepted));
}

Deno.test("Exchange candles: a page with more than a thousand candles is invalid", () => {
  assert.equal(candlePageSchema.safeParse(rows(...below(1_000))).success, true);
  assert.equal(candlePageSchema.safeParse(rows(...below(1_001))).success, false);
});
