import assert from "node:assert/strict";
import type { RandomSource } from "../../../lib/clock.ts";
import { gaussian } from "../../../lib/random.ts";
import { VolatilityEstimator, YEAR_MS } from "../../../services/solver/pricing/volatility.ts";
import { withSeed } from "../../support/random.ts";

const START_MS = 1_700_000_000_000;
const SLOT_MS = 100;
const HOUR_SLOTS = 36_000;

const settings = { halfLifeMs: 1_800_000, floor: 0.01, minHistoryMs: 60_000 };

/** Feeds a price that moves with a volatility, each price off by a noise of its own. */
function feed(
  estimator: VolatilityEstimator,
  random: RandomSource,
  { slots, volatility, noise = 0, from = 0 }: {
    slots: number;
    volatility: number;
    noise?: number;
    from?: number;
  },
): void {
  let log = Math.log(3e9);
  for (let slot = from; slot < from + slots; slot++) {
    log += volatility * Math.sqrt(SLOT_MS / YEAR_MS) * gaussian(random);
    const price = Math.exp(log + noise * gaussian(random));
    estimator.add(START_MS + slot * SLOT_MS, BigInt(Math.round(price)));
  }
}

function estimateOf(estimator: VolatilityEstimator): number {
  return estimator.volatility ?? assert.fail("There is enough history");
}

Deno.test("Volatility: an hour of prices tells it within 15 %, with and without noise", () =>
  withSeed((random) => {
    for (const noise of [0, 1e-4]) {
      const estimator = new VolatilityEstimator(settings);
      feed(estimator, random, { slots: 2 * HOUR_SLOTS, volatility: 0.6, noise });
      const estimate = estimateOf(estimator);
      assert.ok(Math.abs(estimate / 0.6 - 1) < 0.15, `${estimate} with noise ${noise}`);
    }
  }));

Deno.test("Volatility: noise alone is no volatility, where squared returns would see ten times 0.6", () =>
  withSeed((random) => {
    const estimator = new VolatilityEstimator(settings);
    feed(estimator, random, { slots: HOUR_SLOTS, volatility: 0, noise: 2e-4 });
    const naive = Math.sqrt(2 * 2e-4 ** 2 * YEAR_MS / SLOT_MS);
    assert.ok(naive > 4);
    assert.ok(estimateOf(estimator) < 0.4, `${estimator.volatility}`);
  }));

Deno.test("Volatility: newer prices weigh more", () =>
  withSeed((random) => {
    const estimator = new VolatilityEstimator({ ...settings, halfLifeMs: 300_000 });
    feed(estimator, random, { slots: HOUR_SLOTS, volatility: 0.2 });
    feed(estimator, random, { slots: HOUR_SLOTS, volatility: 0.8, from: HOUR_SLOTS + 100 });
    assert.ok(Math.abs(estimateOf(estimator) - 0.8) < 0.25, `${estimator.volatility}`);
  }));

Deno.test("Volatility: nothing before there is enough history, the floor for a still price", () => {
  const estimator = new VolatilityEstimator({ ...settings, floor: 0.07 });
  assert.equal(estimator.volatility, undefined);
  let slot = 0;
  while (estimator.volatility === undefined) {
    estimator.add(START_MS + slot * SLOT_MS, 3_000_000_000n);
    slot += 1;
  }
  // Sixty seconds of returns that each reach five seconds back.
  assert.equal(slot, 650);
  assert.equal(estimator.volatility, 0.07);
});

Deno.test("Volatility: a gap is no return, however far the price went meanwhile", () => {
  const estimator = new VolatilityEstimator({ ...settings, minHistoryMs: 1_000 });
  const prices = [3_000_000_000n, 6_000_000_000n];
  for (const [half, price] of prices.entries()) {
    for (let slot = 0; slot < 200; slot++) {
      estimator.add(START_MS + half * 60_000 + slot * SLOT_MS, price);
    }
  }
  assert.equal(estimator.volatility, settings.floor);
});

Deno.test("Volatility: one jump in a still history counts as its square over the time covered", () => {
  // Returns of all ages weigh the same here, so the figure can be worked out by hand.
  const estimator = new VolatilityEstimator({ ...settings, halfLifeMs: 1e15 });
  const jump = Math.log(1.01);
  for (let slot = 0; slot < HOUR_SLOTS; slot++) {
    estimator.add(START_MS + slot * SLOT_MS, slot < 10_000 ? 3_000_000_000n : 3_030_000_000n);
  }
  const expected = Math.sqrt(jump ** 2 * YEAR_MS / estimator.historyMs);
  assert.ok(Math.abs(estimateOf(estimator) / expected - 1) < 1e-4, `${estimator.volatility}`);
});
