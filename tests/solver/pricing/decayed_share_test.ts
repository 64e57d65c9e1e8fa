import assert from "node:assert/strict";
import { seededRandom } from "../../../lib/random.ts";
import type { RandomSource } from "../../../lib/clock.ts";
import {
  DecayedShare,
  decayedShareSchema,
} from "../../../services/solver/pricing/decayed_share.ts";
import { DAY_MS, HOUR_MS } from "../../../lib/time.ts";
import { DecayedMean } from "../../../services/solver/pricing/decayed_mean.ts";

/** Days of hourly observations; `share` draws each day's chance to hold. */
function observe(share: DecayedShare, days: number, random: RandomSource, chance: () => number) {
  for (let day = 0; day < days; day++) {
    const ofDay = chance();
    for (let hour = 0; hour < 24; hour++) {
      share.add(day * DAY_MS + hour * HOUR_MS, random() < ofDay, 1, 1);
    }
  }
}

Deno.test("Decayed share: older observations lose weight", () => {
  const share = new DecayedShare(HOUR_MS);
  assert.equal(share.share, undefined);
  share.add(0, true, 1, 0.5);
  share.add(HOUR_MS, false, 1, 0.5);
  assert.equal(share.share, 1 / 3);
  // 1.5 observations of even odds.
  assert.ok(Math.abs(share.error(0.5) - Math.sqrt(0.25 / 1.5)) < 1e-12);
});

Deno.test("Decayed share: the estimated error equals the observed one", () => {
  const random = seededRandom(1);
  for (const spread of [0, 0.4]) {
    const chance = () => 0.5 + spread * (random() - 0.5);
    let squares = 0;
    let estimated = 0;
    const runs = 200;
    for (let run = 0; run < runs; run++) {
      const share = new DecayedShare(HOUR_MS);
      observe(share, 40, random, chance);
      squares += (share.share! - 0.5) ** 2; // there are observations
      estimated += share.error(0.5) / runs;
    }
    const actual = Math.sqrt(squares / runs);
    const ratio = estimated / actual;
    assert.ok(ratio > 0.85 && ratio < 1.3, `${spread}: ${estimated}, not ${actual}`);
  }
});

Deno.test("Decayed share: a restored state continues in the same way", () => {
  const random = seededRandom(1);
  const whole = new DecayedShare(HOUR_MS);
  observe(whole, 3, random, () => 0.3);
  const state = decayedShareSchema.parse(JSON.parse(JSON.stringify(whole)));
  const again = new DecayedShare(HOUR_MS, state);
  for (const share of [whole, again]) share.add(5 * DAY_MS, true, 0.5, 0.9);
  assert.deepEqual(again.toJSON(), whole.toJSON());
  assert.equal(again.error(0.5), whole.error(0.5));
});

Deno.test("DecayedMean: a value has half the weight after each half-life", () => {
  const mean = new DecayedMean(1_000);
  assert.deepEqual([mean.mean, mean.weight], [undefined, 0]);
  mean.add(10);
  assert.deepEqual([mean.mean, mean.weight], [10, 1]);
  mean.decay(2_000);
  assert.deepEqual([mean.mean, mean.weight], [10, 0.25]);
  mean.add(20, 0.75);
  assert.deepEqual([mean.mean, mean.weight], [17.5, 1]);
  const restored = new DecayedMean(1_000, JSON.parse(JSON.stringify(mean)));
  assert.deepEqual([restored.mean, restored.weight, restored.halfLifeMs], [17.5, 1, 1_000]);
});
