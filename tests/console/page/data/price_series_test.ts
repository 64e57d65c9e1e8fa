/** The node's time, and prices in the order of time. */
import assert from "node:assert/strict";
import { PriceSeries } from "../../../../services/console/page/data/price_series.ts";
import { ServerClock } from "../../../../services/console/page/data/server_clock.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

Deno.test("ServerClock: follows the node even if the local clock is ahead or was set", () => {
  let local = 100_000;
  const clock = new ServerClock(() => local);
  assert.equal(clock.isUnset, true);
  clock.observe(90_000);
  assert.deepEqual([clock.now(), clock.isUnset], [90_000, false]);
  local = 0;
  clock.observe(90_100);
  assert.equal(clock.now(), 90_100);
  local = 200_000;
  for (let count = 0; count < 5; count++) clock.observe(90_200);
  assert.equal(clock.now(), 90_200);
});

Deno.test("ServerClock: follows the node at once if its time goes back", () => {
  let local = 100_000;
  const clock = new ServerClock(() => local);
  clock.observe(local);
  local += 100;
  clock.observe(50_000);
  assert.equal(clock.now(), 50_000);
});

Deno.test("ServerClock: a few messages that are seconds late do not count", () => {
  let local = 10_000;
  const clock = new ServerClock(() => local);
  clock.observe(10_000);
  for (local = 15_000; local < 15_400; local += 100) clock.observe(local - 3_000);
  assert.equal(clock.now(), local);
});

Deno.test("PriceSeries: keeps the latest price of each slot and ignores older slots", () => {
  const series = new PriceSeries();
  series.append(100, 1);
  series.append(200, 2);
  series.append(200, 3);
  series.append(300, 4);
  series.append(200, 9);
  assert.deepEqual([series.times, series.prices], [[100, 200, 300], [1, 3, 4]]);
});

Deno.test("PriceSeries: history fills gaps and overrides live prices", () => {
  const series = new PriceSeries();
  series.append(300, 3);
  series.append(500, 5);
  series.merge([{ time: 100, price: 1 }, { time: 300, price: 33 }, { time: 400, price: 4 }]);
  assert.deepEqual(series.times, [100, 300, 400, 500]);
  assert.deepEqual(series.prices, [1, 33, 4, 5]);
  assert.deepEqual([0, 100, 101, 500, 501].map((time) => series.indexAt(time)), [0, 0, 1, 3, 4]);
});

Deno.test("PriceSeries: drops the oldest prices at its limit", () => {
  const series = new PriceSeries();
  for (let slot = 0; slot < 150_000; slot++) series.append(slot * 100, slot);
  const { length } = series.times;
  assert(length >= 65_536 && length <= 65_536 + 4_096, `${length} points`);
  assert.equal(series.prices.at(-1), 149_999);
  series.merge(Array.from({ length: 70_000 }, (_, slot) => ({ time: slot * 100 + 1, price: 1 })));
  assert.deepEqual([series.times.length, series.prices.at(-1)], [65_536, 149_999]);
});

Deno.test("PriceSeries: secondMove is the usual move in a second of recent prices, without gaps", () => {
  const series = new PriceSeries();
  for (let slot = 0; slot < 1_000; slot++) {
    // Wild at first, then up and down by 1 % from second to second.
    const price = slot < 300 ? 1_000 ** (slot % 2) : Math.floor(slot / 10) % 2 === 0 ? 100 : 101;
    if (slot < 700 || slot > 750) series.append(slot * 100, price);
  }
  assert.equal(series.secondMove()?.toFixed(4), "0.0100");
  const fresh = new PriceSeries();
  for (let slot = 0; slot <= 99; slot++) fresh.append(slot * 100, 100);
  assert.equal(fresh.secondMove(), undefined);
  fresh.append(10_000, 100);
  assert.equal(fresh.secondMove(), 0);
});

Deno.test("ServerClock: keeps the shortest delay, and follows a clock that jumps", () => {
  const clock = new FakeClock(1_000_000);
  const server = new ServerClock(() => clock.now());
  for (const delayMs of [40, 5, 90, ...Array(100).fill(20)]) server.observe(1_000_500 - delayMs);
  assert.equal(server.now(), 1_000_480, "the older ones are forgotten");
  server.observe(9_000_000);
  assert.equal(server.now(), 9_000_000);
});
