/** Outcomes that the page derives from prices before the node reports them. */
import assert from "node:assert/strict";
import { effect } from "@preact/signals";
import {
  gainOf,
  isDecided,
  LiveBreaches,
  outcomeDetail,
  outcomeText,
  placedText,
} from "../../../../services/console/page/data/live_breaches.ts";
import { PriceSeries } from "../../../../services/console/page/data/price_series.ts";
import { profitHistory, resultsOf } from "../../../../services/console/page/maker/earnings.ts";
import { boxOfThesis, stateOfBet } from "../../../../services/console/page/trade/chart_boxes.ts";
import { thesisOf } from "../../support.ts";

/** Prices of slots of 100 ms from a time on. */
function seriesOf(fromMs: number, ...prices: number[]): PriceSeries {
  const series = new PriceSeries();
  for (const [index, price] of prices.entries()) series.append(fromMs + 100 * index, price);
  return series;
}

const open = thesisOf(1, {
  lowerPrice: 10_000_000n,
  upperPrice: 20_000_000n,
  startTime: 1_000,
  endTime: 2_000,
  betAmount: 10n,
  payout: 25n,
});

Deno.test("LiveBreaches: the first price outside is the breach, bounds are inside", () => {
  const breaches = new LiveBreaches();
  const series = seriesOf(1_200, 10, 20, 15, 9.999999, 30);
  const { breach } = breaches.withBreach(open, series);
  assert.deepEqual(breach, { time: 1_500, price: 9_999_999n });
  assert.deepEqual(breaches.withBreach(open, seriesOf(0)).breach, breach, "it stays");
});

Deno.test("LiveBreaches: prices in the first and last slots of the window, and outside it, are no breach", () => {
  for (const atMs of [900, 1_000, 1_100, 1_800, 1_900, 2_000]) {
    assert.equal(new LiveBreaches().withBreach(open, seriesOf(atMs, 99)), open, `${atMs}`);
  }
  for (const atMs of [1_200, 1_700]) {
    assert.notEqual(new LiveBreaches().withBreach(open, seriesOf(atMs, 99)).breach, undefined);
  }
});

Deno.test("LiveBreaches: a price that replaces the newest slot is checked again", () => {
  const breaches = new LiveBreaches();
  const series = seriesOf(1_200, 15);
  assert.equal(breaches.withBreach(open, series), open);
  series.append(1_200, 99); // the newest slot is replaced while it lasts
  assert.equal(breaches.withBreach(open, series).breach?.time, 1_200);
});

Deno.test("LiveBreaches: a breach is forgotten with the prices of a chain that went back", () => {
  const breaches = new LiveBreaches();
  const series = seriesOf(1_200, 99);
  assert.equal(breaches.withBreach(open, series).breach?.time, 1_200);
  series.clear();
  assert.equal(breaches.withBreach(open, series), open);
  series.append(1_200, 15);
  series.append(1_300, 99);
  assert.equal(breaches.withBreach(open, series).breach?.time, 1_300);
});

Deno.test("LiveBreaches: a breach that one reader finds is reported at once to all readers of the bet", async () => {
  const breaches = new LiveBreaches();
  const series = seriesOf(1_200, 15);
  const seen: unknown[] = [];
  const stop = effect(() => void seen.push(breaches.withBreach(open, series).breach?.time));
  breaches.withBreach(open, series);
  await Promise.resolve();
  assert.deepEqual(seen, [undefined], "nothing new");
  series.append(1_300, 99);
  breaches.withBreach(open, series);
  await Promise.resolve();
  assert.deepEqual(seen, [undefined, 1_300]);
  stop();
});

Deno.test("LiveBreaches: settled theses and markets without prices stay unchanged", () => {
  const breaches = new LiveBreaches();
  const won = { ...open, status: "won" } as const;
  assert.equal(breaches.withBreach(won, seriesOf(1_200, 99)), won);
  assert.equal(breaches.withBreach(open, undefined), open);
});

Deno.test("outcomeText: for a lost bet, it names the price of the breach and the edge that was crossed", () => {
  const bet = { ...open, betAmount: 10_000_000n, payout: 12_000_000n };
  assert.equal(outcomeText({ ...bet, status: "won" }), "Bet 1 won 2.00 USDC: 12.00 paid out.");
  const sides = { lowerPrice: 2_990_000_000n, upperPrice: 3_010_000_000n };
  const textAt = (price: bigint) => outcomeText({ ...bet, ...sides, breach: { time: 0, price } });
  const lost = "Bet 1 lost: 10.00 USDC.";
  assert.equal(textAt(2_989_380_000n), `${lost} The price fell to 2,989.38, below 2,990.00.`);
  assert.equal(textAt(3_010_500_000n), `${lost} The price rose to 3,010.50, above 3,010.00.`);
  assert.equal(
    textAt(2_989_999_900n),
    `${lost} The price fell to 2,989.9999, below 2,990.0000.`,
    "with the digits that tell them apart",
  );
  assert.equal(outcomeText({ ...bet, status: "lost" }), lost);
  const outcomes = (["won", "lost"] as const).map((status) => ({ ...bet, status }));
  assert.deepEqual(outcomes.map(gainOf), [2_000_000n, -10_000_000n]);
  assert.deepEqual(outcomes.map(outcomeDetail), ["12.00 paid out.", ""]);
});

Deno.test("placedText: a bet that ended before its page learned of it promises no payout any more", () => {
  const texts = [500, 1_000, 2_000].map((nowMs) => placedText(7, open, nowMs));
  const pays = "Bet 7 is placed: it pays 0.00 USDC if the price stays in the box. The window";
  const over = "Bet 7 was placed, and its window is over.";
  assert.deepEqual(texts, [`${pays} starts in 1 s.`, `${pays} has begun.`, over]);
});

Deno.test("isDecided: a bet with a breach is decided before the node settles it, in every view", () => {
  const left = { ...open, breach: { time: 1_500, price: 9n } };
  assert.deepEqual([isDecided(open), isDecided(left)], [false, true]);
  assert.match(stateOfBet(left, 0).text, /^✕ left the box at \d\d:\d\d:01$/);
  assert.deepEqual([boxOfThesis(left, 0).kind, boxOfThesis(open, 0).kind], ["lost", "open"]);
  const { open: count, settled, held, profit, atRisk } = resultsOf([left]);
  assert.deepEqual([count, settled, held, profit, atRisk], [0, 1, 0, 10n, 0n]);
  assert.deepEqual(profitHistory([left]), [{ timeMs: 1_500, profit: 10n }]);
});
