import assert from "node:assert/strict";
import type { RandomSource } from "../../../lib/clock.ts";
import { gaussian, seededRandom } from "../../../lib/random.ts";
import { BaseSlope, baseSlopeSchema } from "../../../services/solver/pricing/base_slope.ts";

const MEAN = -7;
const DEVIATION = 0.5;

/** Windows whose bases differ by 0.5, and what they do above that by 0.5 as well, apart from the slope. */
function learn(random: RandomSource, windows: number, slope: number): BaseSlope {
  const learned = new BaseSlope();
  for (let window = 0; window < windows; window++) {
    const above = DEVIATION * gaussian(random);
    learned.add(MEAN + above, -0.3 + slope * above + DEVIATION * gaussian(random), 1, 1);
  }
  return learned;
}

Deno.test("Base slope: what windows do less than their base is learned, about the mean base", () => {
  const learned = learn(seededRandom(1), 5_000, -0.4);
  for (const [base, expected] of [[MEAN, 0], [MEAN + 1, -0.4], [MEAN - 0.5, 0.2]] as const) {
    const found = learned.at(base);
    assert.ok(Math.abs(found - expected) < 0.03, `${base}: ${found}`);
  }
});

Deno.test("Base slope: one that is no more than chance counts for less", () => {
  const random = seededRandom(1);
  const [windows, markets] = [200, 400];
  const slopes = Array.from({ length: markets }, () => {
    const learned = learn(random, windows, 0);
    return learned.at(MEAN + 1) - learned.at(MEAN);
  });
  const mean = slopes.reduce((sum, slope) => sum + slope * slope, 0) / markets;
  assert.ok(mean < 0.3 / windows, `${mean * windows} of the variance that chance gives`);
  assert.ok(slopes.filter((slope) => slope === 0).length > 0.75 * markets, "most are none");
});

Deno.test("Base slope: none from few windows or from equal bases; one window is clipped", () => {
  assert.equal(learn(seededRandom(1), 29, -1).at(0), 0);
  const equal = new BaseSlope();
  for (let window = 0; window < 100; window++) equal.add(MEAN, window % 2, 1, 1);
  assert.equal(equal.at(0), 0);
  const clipped = learn(seededRandom(1), 500, -0.4);
  clipped.add(MEAN + 1, 1e9, 1, 1);
  assert.ok(Math.abs(clipped.at(MEAN + 1) + 0.4) < 0.1, `${clipped.at(MEAN + 1)}`);
});

Deno.test("Base slope: older windows lose weight, and a state continues", () => {
  const random = seededRandom(1);
  const learned = learn(random, 2_000, -0.4);
  const state = baseSlopeSchema.parse(JSON.parse(JSON.stringify(learned)));
  const again = new BaseSlope(state);
  assert.equal(again.at(MEAN + 1), learned.at(MEAN + 1));
  for (let window = 0; window < 2_000; window++) {
    const above = DEVIATION * gaussian(random);
    again.add(MEAN + above, -0.1 * above + DEVIATION * gaussian(random), 1, 0.99);
  }
  assert.ok(again.at(MEAN + 1) > -0.25, `${again.at(MEAN + 1)}`);
});
