import assert from "node:assert/strict";
import { seededRandom } from "../../../lib/random.ts";
import { HOUR_MS, MINUTE_MS } from "../../../lib/time.ts";
import { Season, seasonStateSchema } from "../../../services/solver/pricing/season.ts";
import { assertWithinShare } from "../../support/assert_within.ts";

/**
 * The factors of a cycle from the mean ranges of consecutive cells, the first at its start;
 * undefined where prices are missing.
 */
function naiveFactors(
  values: readonly (number | undefined)[],
  cells: number,
  prior: number,
): number[] {
  const ratios = Array.from({ length: cells }, (): number[] => []);
  for (let cell = cells - 1; cell < values.length; cell++) {
    const cycle = values.slice(cell - cells + 1, cell + 1).filter((value) => value !== undefined);
    if (cycle.length < cells) continue;
    const mean = cycle.reduce((sum, value) => sum + value, 0) / cells;
    ratios[cell % cells]!.push(Math.min(4, values[cell]! / mean)); // one list per cell
  }
  const shrunk = ratios.map((seen) => {
    const mean = seen.reduce((sum, ratio) => sum + ratio, 0) / seen.length;
    return seen.length === 0 ? 1 : 1 + (mean - 1) * seen.length / (seen.length + prior);
  });
  const mean = shrunk.reduce((sum, factor) => sum + factor, 0) / cells;
  return shrunk.map((factor) => factor / mean);
}

/** Adds minutes from an hour on, and the beginning of the next, which ends the last. */
function addMinutes(season: Season, ranges: readonly number[], fromMs = 0): void {
  ranges.forEach((range, minute) => season.add(fromMs + minute * MINUTE_MS, MINUTE_MS, range));
  season.add(fromMs + ranges.length * MINUTE_MS, 1, 0);
}

Deno.test("Season: learns each hour relative to its day and each minute relative to its hour", () => {
  const random = seededRandom(1);
  const days = 3;
  const ranges = Array.from({ length: days * 1_440 }, () => 1e-4 + random());
  const season = new Season();
  addMinutes(season, ranges);
  const hours = Array.from(
    { length: days * 24 },
    (_, hour) => ranges.slice(60 * hour, 60 * hour + 60).reduce((sum, x) => sum + x, 0) / 60,
  );
  const byHour = naiveFactors(hours, 24, 5);
  const byMinute = naiveFactors(ranges, 60, 25);
  for (const minute of [0, 1, 59, 60, 777, 1_439]) {
    const expected = byHour[Math.floor(minute / 60)]! * byMinute[minute % 60]!; // in both cycles
    assertWithinShare(season.factorAt(minute * MINUTE_MS), expected, 1e-9, `minute ${minute}`);
    assertWithinShare(
      season.factorAt((minute + 1_441) * MINUTE_MS - 1),
      expected,
      1e-9,
      "a day later",
    );
  }
});

Deno.test("Season: the mean square over a window weights each minute by its time inside", () => {
  const season = new Season();
  addMinutes(season, Array.from({ length: 3 * 1_440 }, (_, minute) => 1 + minute % 60));
  const square = (minute: number) => season.factorAt(minute * MINUTE_MS) ** 2;
  const over = (from: number, to: number) =>
    season.meanSquareFactor(from * MINUTE_MS, to * MINUTE_MS);
  assertWithinShare(over(2.25, 2.75), square(2), 1e-9, "within a minute");
  assertWithinShare(
    over(2.5, 4.25),
    (0.5 * square(2) + square(3) + 0.25 * square(4)) / 1.75,
    1e-9,
    "over three",
  );
  assert.notEqual(square(2), square(3));
  const hour = Array.from({ length: 60 }, (_, minute) => square(minute));
  assertWithinShare(
    over(0, 180),
    hour.reduce((sum, one) => sum + one, 0) / 60,
    1e-9,
    "over whole hours",
  );
});

Deno.test("Season: the mean square over many days takes no longer than over one", () => {
  const season = new Season();
  addMinutes(season, Array.from({ length: 3 * 1_440 }, (_, minute) => 1 + minute / 60 % 24));
  const over = (fromHour: number, toHour: number) =>
    season.meanSquareFactor(fromHour * HOUR_MS, toHour * HOUR_MS);
  const day = over(0, 24);
  assertWithinShare(over(5.5, 77.5), day, 1e-9, "whole days from within an hour");
  const [part, both] = [over(7.25, 20.75), over(7.25, 68.75)];
  assert.ok(Math.abs(part / day - 1) > 0.01);
  assertWithinShare(both, (48 * day + 13.5 * part) / 61.5, 1e-9, "two days and a part");
  // The latest time that a quote may name.
  assertWithinShare(season.meanSquareFactor(0, Number.MAX_SAFE_INTEGER), day, 1e-8, "all time");
});

Deno.test("Season: learns only from cycles in which no hour lacks most of its prices", () => {
  const random = seededRandom(2);
  const season = new Season();
  const hours = Array.from({ length: 60 * 24 }, (_, hour) => {
    const range = 1e-4 + random();
    const minutes = random() < 0.98 ? 60 : random() < 0.5 ? 0 : Math.floor(30 * random());
    for (let minute = 0; minute < minutes; minute++) {
      season.add(hour * HOUR_MS + minute * MINUTE_MS, MINUTE_MS, range);
    }
    return minutes >= 15 ? range : undefined;
  });
  season.add(hours.length * HOUR_MS, 1, 0);
  const factors = naiveFactors(hours, 24, 5);
  const at = (hour: number) => new Season(season.toJSON()).factorAt(hour * HOUR_MS);
  // The season of the hour is the same at each of these times.
  for (let hour = 1; hour < 24; hour++) {
    assertWithinShare(at(hour) / at(0), factors[hour]! / factors[0]!, 1e-9, `hour ${hour}`); // 24 factors
  }
});

Deno.test("Season: a gap restarts the learning: no season until a whole cycle is known", () => {
  const gap = new Season();
  const ranges = Array.from({ length: 23 * 60 }, (_, minute) => 1 + Math.floor(minute / 60));
  addMinutes(gap, ranges);
  addMinutes(gap, ranges, 48 * HOUR_MS);
  assert.ok(gap.toJSON().day.ratios.every((ratio) => ratio === 1));
});

Deno.test("Season: a price that never moves has no season", () => {
  const still = new Season();
  addMinutes(still, new Array(1_600).fill(0));
  assert.equal(still.factorAt(0), 1);
  assert.equal(still.meanSquareFactor(0, 10 * HOUR_MS), 1);
});

Deno.test("Season: a restored state continues in the same way", () => {
  const ranges = Array.from({ length: 4_000 }, (_, minute) => 1 + minute % 11);
  const [whole, first] = [new Season(), new Season()];
  addMinutes(whole, ranges.slice(0, 2_000));
  addMinutes(first, ranges.slice(0, 2_000));
  const text = JSON.stringify(first);
  const second = new Season(seasonStateSchema.parse(JSON.parse(text)));
  for (const season of [whole, second]) addMinutes(season, ranges.slice(2_000), 2_000 * MINUTE_MS);
  assert.deepEqual(second.toJSON(), whole.toJSON());
  assert.equal(JSON.stringify(first), text, "the state is a copy");
});
