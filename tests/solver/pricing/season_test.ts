import assert from "node:assert/strict";
import { HourlySeason, seasonStateSchema } from "../../../services/solver/pricing/season.ts";
import { withSeed } from "../../support/random.ts";

const HOUR_MS = 3_600_000;

function assertNear(actual: number, expected: number, what: string): void {
  assert.ok(Math.abs(actual - expected) < 1e-9 * expected, `${what}: ${actual}, not ${expected}`);
}

/** The factor of each hour, from the variances of consecutive hours, the first at midnight. */
function naiveFactors(variances: readonly number[]): number[] {
  const logs = variances.map(Math.log);
  const deviations = new Array<number>(24).fill(0);
  const days = new Array<number>(24).fill(0);
  for (let hour = 23; hour < logs.length; hour++) {
    const mean = logs.slice(hour - 23, hour + 1).reduce((sum, log) => sum + log, 0) / 24;
    const place = hour % 24;
    days[place] = Math.min(60, days[place]! + 1);
    deviations[place]! += (logs[hour]! - mean - deviations[place]!) / days[place];
  }
  const shrunk = deviations.map((deviation, hour) => deviation * days[hour]! / (days[hour]! + 5));
  return shrunk.map((value, hour) =>
    Math.exp(0.5 * value + 0.25 * shrunk[(hour + 23) % 24]! + 0.25 * shrunk[(hour + 1) % 24]!)
  );
}

/** Adds whole hours in two parts each, and the beginning of the next, which ends the last. */
function addHours(season: HourlySeason, variances: readonly number[], from = 0): void {
  for (const [index, variance] of variances.entries()) {
    const at = (from + index) * HOUR_MS;
    season.add(at, HOUR_MS / 4, variance / 4);
    season.add(at + HOUR_MS / 4, HOUR_MS * 3 / 4, variance * 3 / 4);
  }
  season.add((from + variances.length) * HOUR_MS, 1, 0);
}

Deno.test("Season: learns each hour relative to the day that ends with it", () =>
  withSeed((random) => {
    for (const hours of [23, 24, 25, 100, 24 * 70]) {
      const variances = Array.from({ length: hours }, () => 1e-4 + random());
      const season = new HourlySeason();
      addHours(season, variances);
      for (const [hour, factor] of naiveFactors(variances).entries()) {
        assertNear(season.factorAt(hour * HOUR_MS), factor, `${hours} hours, at ${hour}`);
        assertNear(season.factorAt((hour + 25) * HOUR_MS - 1), factor, "a day later, at its end");
      }
    }
  }));

Deno.test("Season: the mean over a window weighs each hour by its time in it", () => {
  const season = new HourlySeason();
  addHours(season, Array.from({ length: 72 }, (_, hour) => 1 + hour % 24));
  const [two, three, four] = [2, 3, 4].map((hour) => season.factorAt(hour * HOUR_MS));
  const over = (from: number, to: number) => season.factorOver(from * HOUR_MS, to * HOUR_MS);
  assertNear(over(2.25, 2.75), two!, "within an hour");
  assertNear(over(2.5, 4.25), (0.5 * two! + three! + 0.25 * four!) / 1.75, "over three");
  assertNear(over(3, 3), three!, "a moment");
  assert.notEqual(two, three);
});

Deno.test("Season: a gap begins a new day, and the part of an hour counts from a quarter on", () => {
  const variances = Array.from({ length: 40 }, (_, hour) => 1 + hour % 7);
  const gap = new HourlySeason();
  addHours(gap, variances.slice(0, 20));
  addHours(gap, variances.slice(0, 23), 48);
  for (let hour = 0; hour < 24; hour++) assert.equal(gap.factorAt(hour * HOUR_MS), 1);

  for (const [durationMs, isKnown] of [[HOUR_MS / 4, true], [HOUR_MS / 4 - 1, false]] as const) {
    const season = new HourlySeason();
    addHours(season, variances.slice(0, 23));
    season.add(23 * HOUR_MS + 1, durationMs - 1, 5);
    season.add(24 * HOUR_MS, 1, 0);
    assert.equal(season.toJSON().days.includes(1), isKnown, `${durationMs} ms`);
  }
  const still = new HourlySeason();
  addHours(still, new Array(30).fill(0));
  assert.deepEqual(still.toJSON().recent, [], "an hour without a move has no logarithm");
});

Deno.test("Season: continues from its state", () => {
  const variances = Array.from({ length: 60 }, (_, hour) => 1 + hour % 11);
  const [whole, first] = [new HourlySeason(), new HourlySeason()];
  addHours(whole, variances.slice(0, 40));
  addHours(first, variances.slice(0, 40));
  const second = new HourlySeason(seasonStateSchema.parse(JSON.parse(JSON.stringify(first))));
  assert.deepEqual(second.toJSON(), whole.toJSON());
  addHours(second, variances.slice(40), 40);
  addHours(whole, variances.slice(40), 40);
  assert.deepEqual(second.toJSON(), whole.toJSON());
  const state = first.toJSON();
  const text = JSON.stringify(state);
  for (const each of [first, new HourlySeason(state)]) addHours(each, variances.slice(40), 40);
  assert.equal(JSON.stringify(state), text, "the state is a copy");
  assert.equal(second.factorAt(0), whole.factorAt(0));
});
