import assert from "node:assert/strict";
import { gaussian, seededRandom } from "../../../lib/random.ts";
import { MarketVolatility } from "../../../services/solver/pricing/volatility.ts";
import { StartSeason, startSeasonSchema } from "../../../services/solver/pricing/start_season.ts";
import { HOUR_MS, MINUTE_MS } from "../../../lib/time.ts";

/**
 * Adds windows of every minute whose logarithms differ by 0.5, and by `differenceOf` their minutes.
 */
function learn(hours: number, differenceOf: (minute: number) => number): StartSeason {
  const random = seededRandom(1);
  const season = new StartSeason(MINUTE_MS);
  for (let minute = 0; minute <= 60 * hours; minute++) {
    season.add(minute * MINUTE_MS, -0.7 + differenceOf(minute % 60) + 0.5 * gaussian(random));
  }
  return season;
}

Deno.test("Start season: learns which minutes have larger moves than the mean", () => {
  const season = learn(960, (minute) => minute % 15 === 0 ? 0.2 : 0);
  // A fifteenth of the windows go further, so their mean is 0.013 higher.
  for (const [minute, expected] of [[15, 0.187], [16, -0.013], [45.9, 0.187]] as const) {
    const found = season.at(7 * HOUR_MS + minute * MINUTE_MS);
    assert.ok(Math.abs(found - expected) < 0.05, `minute ${minute}: ${found}`);
  }
});

Deno.test("Start season: random differences have almost no effect", () => {
  for (const hours of [30, 240]) {
    const season = learn(hours, () => 0);
    const chance = 0.5 / Math.sqrt(hours);
    const offsets = Array.from({ length: 60 }, (_, minute) => season.at(minute * MINUTE_MS));
    const deviation = Math.sqrt(offsets.reduce((sum, one) => sum + one * one, 0) / 60);
    assert.ok(deviation < 0.4 * chance, `${deviation} where chance gives ${chance}`);
  }
});

Deno.test("Start season: no effect in the first day, and a single extreme window is limited", () => {
  assert.equal(learn(22, (minute) => minute === 0 ? 1 : 0).at(0), 0);
  const season = new StartSeason(MINUTE_MS);
  for (let minute = 0; minute <= 48 * 60; minute++) {
    season.add(minute * MINUTE_MS, minute === 0 ? 1e9 : minute % 2);
  }
  assert.ok(season.at(0) < 0, "one window does not outweigh 48 others");
});

Deno.test("Start season: continues from its state, but not from that of another window length", () => {
  const season = learn(240, (minute) => minute === 7 ? 0.4 : 0);
  const state = startSeasonSchema.parse(JSON.parse(JSON.stringify(season)));
  const again = new StartSeason(MINUTE_MS, state);
  assert.ok(again.at(7 * MINUTE_MS) > 0.2);
  assert.equal(again.at(7 * MINUTE_MS), season.at(7 * MINUTE_MS));
  assert.equal(new StartSeason(2 * MINUTE_MS, state).at(7 * MINUTE_MS), 0);
});

Deno.test("Start season: minutes where prices keep their direction have a higher forecast, even with equal ranges", () => {
  const random = seededRandom(1);
  const volatility = new MarketVolatility({ floor: 0.01, minHistoryMs: MINUTE_MS });
  const days = 4;
  let [log, direction] = [0, 1];
  for (let minute = 0; minute < days * 1_440; minute++) {
    // Four minutes after each full hour go to the same side, the others to either.
    if (minute % 60 === 0 || minute % 60 > 3) direction = random() < 0.5 ? -1 : 1;
    const [open, close] = [log, log += direction * 1e-3].map(Math.exp) as [number, number];
    const [high, low] = [Math.max(open, close), Math.min(open, close)];
    const durationMs = MINUTE_MS;
    volatility.addCandle({ timeMs: minute * MINUTE_MS, durationMs, open, high, low, close });
  }
  const startMs = days * 24 * HOUR_MS;
  const at = (minute: number, horizonMs: number) => {
    const nowMs = startMs + minute * MINUTE_MS;
    return volatility.forecast(nowMs, nowMs + horizonMs)?.volatility ?? assert.fail("No forecast");
  };
  const [one, four, hour] = [1, 4, 64].map((minutes) =>
    at(0, minutes * MINUTE_MS) / at(30, minutes * MINUTE_MS)
  );
  assert.ok(four! > 1.2, `${four}`);
  assert.ok(Math.abs(one! - 1) < 0.02 && Math.abs(hour! - 1) < 0.02, `${one}, ${hour}`);
});
