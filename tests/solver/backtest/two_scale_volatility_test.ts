import assert from "node:assert/strict";
import type { RandomSource } from "../../../lib/clock.ts";
import { gaussian } from "../../../lib/random.ts";
import { TwoScaleVolatility } from "../../../services/solver/backtest/rivals/two_scale_volatility.ts";
import { YEAR_MS } from "../../../services/solver/pricing/units.ts";
import { withSeed } from "../../support/random.ts";

const START_MS = 1_700_000_000_000;
const SLOT_MS = 100;
const HOUR_SLOTS = 36_000;

const settings = { halfLifeMs: 1_800_000, floor: 0.01, minHistoryMs: 60_000 };

/** Feeds a price that moves with a volatility, each price off by a noise of its own. */
function feed(
  estimator: TwoScaleVolatility,
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

function estimateOf(estimator: TwoScaleVolatility): number {
  return estimator.volatility ?? assert.fail("There is enough history");
}

Deno.test("Two-scale volatility: an hour of prices gives it within 15 %, with and without noise", () =>
  withSeed((random) => {
    for (const noise of [0, 1e-4]) {
      const estimator = new TwoScaleVolatility(settings);
      feed(estimator, random, { slots: 2 * HOUR_SLOTS, volatility: 0.6, noise });
      const estimate = estimateOf(estimator);
      assert.ok(Math.abs(estimate / 0.6 - 1) < 0.15, `${estimate} with noise ${noise}`);
    }
  }));

Deno.test("Two-scale volatility: noise alone is no volatility, where squared returns would see ten times 0.6", () =>
  withSeed((random) => {
    const estimator = new TwoScaleVolatility(settings);
    feed(estimator, random, { slots: HOUR_SLOTS, volatility: 0, noise: 2e-4 });
    const naive = Math.sqrt(2 * 2e-4 ** 2 * YEAR_MS / SLOT_MS);
    assert.ok(naive > 4);
    assert.ok(estimateOf(estimator) < 0.4, `${estimator.volatility}`);
  }));

Deno.test("Two-scale volatility: newer prices weigh more", () =>
  withSeed((random) => {
    const estimator = new TwoScaleVolatility({ ...settings, halfLifeMs: 300_000 });
    feed(estimator, random, { slots: HOUR_SLOTS, volatility: 0.2 });
    feed(estimator, random, { slots: HOUR_SLOTS, volatility: 0.8, from: HOUR_SLOTS + 100 });
    assert.ok(Math.abs(estimateOf(estimator) - 0.8) < 0.25, `${estimator.volatility}`);
  }));

Deno.test("Two-scale volatility: nothing before there is enough history, the floor for a still price", () => {
  const estimator = new TwoScaleVolatility({ ...settings, floor: 0.07 });
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

Deno.test("Two-scale volatility: a gap is no return, however far the price went meanwhile", () => {
  const estimator = new TwoScaleVolatility({ ...settings, minHistoryMs: 1_000 });
  const prices = [3_000_000_000n, 6_000_000_000n];
  for (const [half, price] of prices.entries()) {
    for (let slot = 0; slot < 200; slot++) {
      estimator.add(START_MS + half * 60_000 + slot * SLOT_MS, price);
    }
  }
  assert.equal(estimator.volatility, settings.floor);
});
