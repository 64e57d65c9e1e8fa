import assert from "node:assert/strict";
import { gaussian, seededRandom } from "../../../lib/random.ts";
import { MINUTE_MS } from "../../../lib/time.ts";
import { CandleBuilder, unitRange } from "../../../services/solver/pricing/candle.ts";

Deno.test("Candle: prices of a minute are one candle, complete with the first price of the next", () => {
  const builder = new CandleBuilder();
  const first = MINUTE_MS * 7;
  const prices = [[100, 5], [200, 9], [300, 2], [59_999, 4]] as const;
  for (const [at, price] of prices) assert.equal(builder.add(first + at, price), undefined);
  const candle = {
    durationMs: MINUTE_MS,
    timeMs: first,
    open: 5,
    high: 9,
    low: 2,
    close: 4,
    firstMs: first + 100,
    lastMs: first + 59_999,
  };
  assert.deepEqual(builder.add(first + MINUTE_MS, 7), candle);
  const second = { open: 7, high: 7, low: 7, close: 7, firstMs: first + MINUTE_MS };
  assert.deepEqual(builder.add(first + 9 * MINUTE_MS, 1), {
    ...candle,
    ...second,
    timeMs: first + MINUTE_MS,
    lastMs: first + MINUTE_MS,
  });
});

Deno.test("Candle: the expected range of a random walk equals that of simulations, for any number of steps", () => {
  const random = seededRandom(1);
  const WALKS = 20_000;
  for (const steps of [1, 2, 10, 100]) {
    let sum = 0;
    for (let walk = 0; walk < WALKS; walk++) {
      let [at, high, low] = [0, 0, 0];
      for (let step = 0; step < steps; step++) {
        at += gaussian(random);
        high = Math.max(high, at);
        low = Math.min(low, at);
      }
      sum += high - low;
    }
    const ratio = sum / WALKS / unitRange(steps);
    assert.ok(ratio > 0.95 && ratio < 1.02, `${steps} steps: ${ratio}`);
  }
  assert.deepEqual([unitRange(0), unitRange(0.5)], [0, unitRange(1) / 2]);
});
