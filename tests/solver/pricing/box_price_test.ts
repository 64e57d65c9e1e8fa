import assert from "node:assert/strict";
import fc from "fast-check";
import { YEAR_MS } from "../../../lib/time.ts";
import { needsHold, payoutFor, priceBox } from "../../../services/solver/pricing/box_price.ts";
import { forecastOf } from "../../../services/solver/pricing/volatility_forecast.ts";
import { boxProbability } from "./reference.ts";
import { findFreeBet, SCENARIOS } from "./no_free_bet.ts";

const NOW_MS = 1_700_000_000_000;
const VOLATILITY = 0.5;
const MARGIN = 0.05;
const SPOT = 60_000_000_000n;
/** Deviation of a second. */
const SECOND = Number(SPOT) * VOLATILITY * Math.sqrt(1_000 / YEAR_MS);
const model = { forecast: forecastOf(VOLATILITY, 0), stillShare: 0 };

/** A box of a minute whose bounds are so many deviations of a second away. */
function box(below: number, above: number, aheadMs = 0) {
  const times = { nowMs: NOW_MS, startMs: NOW_MS + aheadMs, endMs: NOW_MS + aheadMs + 60_000 };
  const at = (deviations: number) => SPOT + BigInt(Math.round(deviations * SECOND));
  return { spot: SPOT, lower: at(-below), upper: at(above), ...times };
}

Deno.test("Price of a box: the charged probability is that of boxes that survive the hold", () => {
  const near = box(1, 14);
  const { probability, chargedProbability } = priceBox(near, model, 1_000, MARGIN);
  assert.equal(probability, boxProbability({ ...near, volatility: VOLATILITY }));
  const survives = boxProbability({ ...near, endMs: NOW_MS + 1_000, volatility: VOLATILITY });
  assert.ok(survives < 0.8 && Math.abs(chargedProbability - probability / survives) < 1e-12);
});

Deno.test("Payout: a share is withheld of the winnings, not of the bet", () => {
  assert.deepEqual([0, 0.25, 1].map((skew) => payoutFor(100n, 0.5, 0, skew)), [
    200n,
    175n,
    undefined,
  ]);
});

Deno.test("Price of a box: charged only with a hold, and only if the box starts before its end", () => {
  for (const [given, holdMs] of [[box(1, 14), 0], [box(1, 14, 1_000), 1_000]] as const) {
    const { probability, chargedProbability } = priceBox(given, model, holdMs, MARGIN);
    assert.equal(chargedProbability, probability);
  }
});

Deno.test("Price of a box: a box that ends during the hold is charged as certain", () => {
  for (const holdMs of [60_000, 90_000]) {
    assert.equal(priceBox(box(1, 14), model, holdMs, MARGIN).chargedProbability, 1);
  }
});

/** Boxes of a minute, half as wide as so many of its deviations, and a user three seconds ahead. */
function threeSecondsPay(width: number, offset: number, payout = 1): boolean {
  const half = width * Math.sqrt(60);
  const given = box(half * (1 + offset), half * (1 - offset));
  return needsHold(given, model, 3_000, payout * (1 - MARGIN));
}

Deno.test("Early prices: profitable near a bound and on narrow boxes, not in the middle of wider ones", () => {
  // By integration over the lead: gains of .005, .007, 0 and 0.
  for (const [width, offset] of [[1, 0], [1, 0.05], [1.5, 0.1], [2, -0.1]] as const) {
    assert.equal(threeSecondsPay(width, offset), false, `${width}, ${offset}`);
  }
  // Of .028, .009, .022 and .09.
  for (const [width, offset] of [[0.8, 0], [1, 0.07], [2, -0.3], [1, 0.5], [1, -0.95]] as const) {
    assert.equal(threeSecondsPay(width, offset), true, `${width}, ${offset}`);
  }
});

Deno.test("Early prices: profitable on a box that ends within the lead, never without a lead", () => {
  const far = box(100, 100);
  assert.equal(needsHold(far, model, 60_000, 0.95), true);
  assert.equal(needsHold(box(7, 7), model, 0, 2), false);
});

Deno.test("Early prices: before a later window, prices move as they do until its start", () => {
  const later = box(7.75, 7.75, 3_500);
  const pays = (startFactor: number) => needsHold(later, { ...model, startFactor }, 3_000, 0.95);
  // By integration over the lead: a gain of .13 with twice the volatility, none with half of it.
  assert.equal(pays(2), true);
  assert.equal(pays(0.5), false);
});

// No quote is worth more than it costs under the model's own assumptions.

Deno.test("Pricing: no quote has an expected gain for the user", () => {
  fc.assert(
    fc.property(SCENARIOS, (scenario) => {
      const found = findFreeBet(scenario);
      assert.equal(found, undefined, JSON.stringify(found));
    }),
    { numRuns: 3_000 },
  );
});
