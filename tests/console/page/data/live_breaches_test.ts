/** Outcomes that the page derives from prices before the node reports them. */
import assert from "node:assert/strict";
import { effect } from "@preact/signals";
import { LiveBreaches } from "../../../../services/console/page/data/live_breaches.ts";
import { PriceSeries } from "../../../../services/console/page/data/price_series.ts";
import { openBet as open } from "../../support.ts";

/** Prices of slots of 100 ms from a time on. */
function seriesOf(fromMs: number, ...prices: number[]): PriceSeries {
  const series = new PriceSeries();
  for (const [index, price] of prices.entries()) series.append(fromMs + 100 * index, price);
  return series;
}

Deno.test("LiveBreaches: the first price outside is the breach, bounds are inside", () => {
  const breaches = new LiveBreaches();
  const series = seriesOf(1_200, 10, 20, 15, 9.999999, 30);
  const { breach } = breaches.withBreach(open, series);
  assert.deepEqual(breach, { time: 1_500, price: 9_999_999n });
  series.times = series.prices = []; // as too old
  assert.deepEqual(breaches.withBreach(open, series).breach, breach, "it stays");
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
  assert.equal(breaches.withBreach(open, seriesOf(1_200, 99)).breach?.time, 1_200);
  const series = new PriceSeries();
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
