import assert from "node:assert/strict";
import fc from "fast-check";
import { gaussian, seededRandom } from "../../../lib/random.ts";
import { UINT64_MAX } from "../../../lib/protocol/scalars.ts";
import { YEAR_MS } from "../../../lib/time.ts";
import {
  type BoxToPrice,
  noTouchAtChecks,
  priceChecksOf,
  type PriceMotion,
} from "../../../services/solver/pricing/box_probability.ts";
import { boxProbability } from "./reference.ts";
import { latticeProbability } from "./no_free_bet.ts";

type BoxView = BoxToPrice & PriceMotion;

const NOW_MS = 1_700_000_000_000;

const fiveMinutes: BoxView = {
  spot: 60_000_000_000n,
  lower: 59_700_000_000n,
  upper: 60_300_000_000n,
  nowMs: NOW_MS,
  startMs: NOW_MS,
  endMs: NOW_MS + 300_000,
  volatility: 0.5,
};

Deno.test("Box: of a window that has begun, only the rest is priced", () => {
  const begun = { ...fiveMinutes, startMs: NOW_MS - 3_600_000 };
  assert.equal(boxProbability(begun), boxProbability(fiveMinutes));
  const almostOver = { ...fiveMinutes, endMs: NOW_MS + 1 };
  assert.equal(boxProbability(almostOver), 1);
});

Deno.test("Box: a volatility of NaN gives a probability of NaN, not of 0, which would pay the most", () => {
  for (const waitMs of [0, 50, 5_000]) {
    for (const [steps, stillShare] of [[3, 0], [50, 0], [50, 0.7], [100_000, 0]] as const) {
      const checks = { toLower: 0.01, toUpper: 0.01, waitMs, steps };
      assert.equal(noTouchAtChecks(checks, { volatility: NaN, stillShare }), NaN);
    }
  }
});

Deno.test("Box: times between two slots are those of the slots that they contain", () => {
  const odd = { ...fiveMinutes, startMs: NOW_MS - 99, endMs: NOW_MS + 299_901 };
  assert.equal(boxProbability(odd), boxProbability(fiveMinutes));
  const later = { ...fiveMinutes, startMs: NOW_MS + 60_000 };
  assert.equal(boxProbability({ ...later, startMs: NOW_MS + 59_901 }), boxProbability(later));
});

Deno.test("Box: with 90 % still slots, a bound at the price is broken at the next check with 5 %", () => {
  const nextSlot = { toLower: 1e-9, toUpper: 1, waitMs: 50, steps: 0 };
  const probability = noTouchAtChecks(nextSlot, { volatility: 0.5, stillShare: 0.9 });
  // A bound that is next to the price: every second move breaks the box.
  assert.ok(Math.abs(probability - 0.95) < 1e-3, `${probability}`);
});

Deno.test("Box: until a later window begins, still prices mostly stay where they are", () => {
  const narrow = { toLower: 1e-9, toUpper: 1e-9, waitMs: 1_000, steps: 0 };
  const still = { volatility: 0.5, stillShare: 0.98 };
  const probability = noTouchAtChecks(narrow, still);
  assert.ok(Math.abs(probability - 0.98 ** 10) < 1e-3, `${probability}`);
  assert.ok(noTouchAtChecks({ ...narrow, toLower: -1e-9, toUpper: 1 }, still) < 0.2);
  // A box with the same end that begins later is checked less often.
  let before = 0;
  for (const waitMs of [200, 1_000, 5_000, 15_000, 19_000]) {
    const box = { toLower: 1e-4, toUpper: 1e-4, waitMs, steps: (20_000 - waitMs) / 100 };
    const later = noTouchAtChecks(box, still);
    assert.ok(later > before, `${waitMs}: ${later}, ${before}`);
    before = later;
  }
  // Also with so many moves that the closed forms take over.
  const bound = { toLower: 1e-9, toUpper: 1, waitMs: 200 };
  const exact = noTouchAtChecks({ ...bound, steps: 1_249 }, still);
  const closed = noTouchAtChecks({ ...bound, steps: 1_251 }, still);
  assert.ok(Math.abs(closed - exact) < 0.005, `${closed}, ${exact}`);
});

Deno.test("Box: a later window is less likely to be won if the price is outside now", () => {
  const later = { ...fiveMinutes, startMs: NOW_MS + 3_600_000, endMs: NOW_MS + 3_900_000 };
  const probability = boxProbability(later);
  assert.ok(probability > 0.4 && probability < 0.8, `${probability}`);
  const outside = { ...later, spot: 59_600_000_000n };
  assert.ok(boxProbability(outside) > 0.1 && boxProbability(outside) < probability);
});

Deno.test("Box: if the window has begun, a price outside has probability 0, one at a bound does not", () => {
  assert.equal(boxProbability({ ...fiveMinutes, spot: 59_699_999_999n }), 0);
  const onBound = boxProbability({ ...fiveMinutes, spot: 59_700_000_000n });
  assert.ok(onBound > 0 && onBound < 0.05, `${onBound}`);
});

Deno.test("Box: agrees with prices simulated slot by slot, for windows that begin now, later or earlier", () => {
  const random = seededRandom(1);
  const paths = 10_000;
  const volatility = 5;
  const deviation = volatility * Math.sqrt(100 / YEAR_MS);
  for (const startsInMs of [-1_000, 0, 2_000]) {
    const box: BoxView = {
      ...fiveMinutes,
      lower: 59_900_000_000n,
      upper: 60_080_000_000n,
      volatility,
      startMs: NOW_MS + startsInMs,
      endMs: NOW_MS + startsInMs + 5_000,
    };
    const lower = Math.log(Number(box.lower) / Number(box.spot));
    const upper = Math.log(Number(box.upper) / Number(box.spot));
    let held = 0;
    for (let path = 0; path < paths; path++) {
      let move = 0;
      let inside = true;
      for (let time = NOW_MS + 100; time < box.endMs && inside; time += 100) {
        move += deviation * gaussian(random) - deviation ** 2 / 2;
        inside = time < box.startMs || (move >= lower && move <= upper);
      }
      if (inside) held += 1;
    }
    const expected = boxProbability(box);
    const error = Math.sqrt(expected * (1 - expected) / paths);
    assert.ok(
      Math.abs(held / paths - expected) < 5 * error + 0.005,
      `${startsInMs}: ${held / paths} held of ${expected}`,
    );
  }
});

Deno.test("Box: every valid input gives a probability", () => {
  const price = fc.bigInt({ min: 0n, max: UINT64_MAX });
  const time = fc.oneof(
    fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    fc.integer({ min: NOW_MS - 10_000, max: NOW_MS + 10_000 }),
  );
  fc.assert(
    fc.property(
      price,
      price,
      fc.bigInt({ min: 1n, max: UINT64_MAX }),
      time,
      fc.integer({ min: 1_000, max: 86_400_000 }),
      fc.double({ min: 1e-9, max: 10, noNaN: true }),
      (one, other, spot, startMs, durationMs, volatility) => {
        const [lower, upper] = one < other ? [one, other] : [other, one];
        const endMs = startMs + durationMs;
        const box = { spot, lower, upper, nowMs: NOW_MS, startMs, endMs, volatility };
        const probability = boxProbability(box);
        assert.ok(probability >= 0 && probability <= 1, `${probability}`);
      },
    ),
    { numRuns: 3_000 },
  );
});

/** Two probabilities are compared, each with two errors below 1e-9: its cut paths and its nodes. */
const NUMERIC_ERROR = 4e-9;

Deno.test("Box: less for a narrower range, a longer window and a higher volatility", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 0, max: 600_000 }),
      fc.integer({ min: 1_000, max: 600_000 }),
      (below, above, startsInMs, durationMs) => {
        const { spot } = fiveMinutes;
        const startMs = NOW_MS + startsInMs;
        const box: BoxView = {
          ...fiveMinutes,
          lower: spot - BigInt(below) * 1_000_000n,
          upper: spot + BigInt(above) * 1_000_000n,
          startMs,
          endMs: startMs + durationMs,
        };
        const probability = boxProbability(box);
        const atMost = (other: Partial<BoxView>) =>
          assert.ok(boxProbability({ ...box, ...other }) <= probability + NUMERIC_ERROR);
        atMost({ lower: box.lower + (spot - box.lower) / 2n });
        atMost({ upper: box.upper - (box.upper - spot) / 2n });
        atMost({ endMs: box.endMs + durationMs });
        atMost({ volatility: box.volatility * 1.1 });
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("Box: priceChecksOf includes the window's last slot, and nothing after it", () => {
  const box = { spot: 10n, lower: 9n, upper: 11n, startMs: 0, endMs: 200 };
  const left = [0, 1, 100, 101].map((nowMs) => {
    const checks = priceChecksOf({ ...box, nowMs });
    return checks && [checks.waitMs, checks.steps];
  });
  assert.deepEqual(left, [[0, 1], [99, 0], [0, 0], undefined]);
});

Deno.test("Box: before its only check the price moves, whatever the share of still slots", () => {
  for (const stillShare of [0, 0.5]) {
    const inside = (toLower: number, waitMs: number) =>
      noTouchAtChecks({ toLower, toUpper: 1, waitMs, steps: 0 }, { volatility: 0.5, stillShare });
    assert.ok(Math.abs(inside(0, 10_000) - 0.5) < 1e-3, "a window that lies ahead");
    const deviation = 0.5 * Math.sqrt(10_000 / YEAR_MS);
    assert.ok(Math.abs(inside(deviation, 10_000) - 0.8413) < 1e-3);
    if (stillShare === 0) assert.ok(Math.abs(inside(0, 50) - 0.5) < 1e-3, "within a slot");
  }
});

Deno.test("Box: for prices that are often still, it is at most .005 too high, and never too low", () => {
  const random = seededRandom(1);
  const deviation = 1e-5;
  let [lowest, highest] = [0, 0];
  for (let box = 0; box < 2_000; box++) {
    // Half of them up to 99 % still, half of them up to 99.97 %.
    const still = random() < 0.5 ? 0.99 * random() : 1 - 10 ** (-1 - 2.5 * random());
    const checks = Math.ceil(100 ** random() / (1 - still));
    const reach = 2.5 * Math.sqrt(checks * (1 - still));
    const distance = () => random() * (random() < 0.2 ? 2 : reach);
    const [toLower, toUpper] = [distance(), distance()];
    const said = noTouchAtChecks({
      toLower: toLower * deviation,
      toUpper: toUpper * deviation,
      waitMs: 0,
      steps: checks,
    }, { volatility: deviation * Math.sqrt((1 - still) * YEAR_MS / 100), stillShare: still });
    const error = said - latticeProbability(toLower, toUpper, -deviation / 2, checks, still);
    lowest = Math.min(lowest, error);
    highest = Math.max(highest, error);
  }
  assert.ok(lowest > -2e-4 && highest < 0.005, `${lowest} to ${highest}`);
});
