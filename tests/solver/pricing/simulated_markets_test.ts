/** Forecasts on simulated markets of kinds that no constant of the model was chosen for. */
import assert from "node:assert/strict";
import type { RandomSource } from "../../../lib/clock.ts";
import { gaussian, seededRandom } from "../../../lib/random.ts";
import { YEAR_MS } from "../../../services/solver/pricing/units.ts";
import { MarketVolatility } from "../../../services/solver/pricing/volatility.ts";

const MINUTE_MS = 60_000;
const DAYS = 12;
/** Moves of a minute. */
const MOVES = 30;
const MINUTE_DEVIATION = 0.6 * Math.sqrt(MINUTE_MS / YEAR_MS);

/** The deviation of a minute, from the number of the minute and the return of the one before. */
type Volatility = (random: RandomSource) => (minute: number, before: number) => number;

const markets: Record<string, { volatility: Volatility; jumpsPerMinute?: number }> = {
  "constant volatility": { volatility: () => () => MINUTE_DEVIATION },
  "volatility that clusters (GARCH)": {
    volatility() {
      let variance = 1;
      return (_minute, before) => {
        variance = 0.01 + 0.06 * (before / MINUTE_DEVIATION) ** 2 + 0.93 * variance;
        return MINUTE_DEVIATION * Math.sqrt(variance);
      };
    },
  },
  "volatility that triples from one day to the next": {
    volatility: () => (minute) => MINUTE_DEVIATION * (Math.floor(minute / 2_880) % 2 === 0 ? 1 : 3),
  },
  "volatility that drifts, with an hour of calm each day": {
    volatility(random) {
      let log = 0;
      return (minute) => {
        log = 0.998 * log + 0.03 * gaussian(random);
        return MINUTE_DEVIATION * Math.exp(log) * (minute % 1_440 < 60 ? 0.3 : 1);
      };
    },
  },
  "jumps of ten minutes' size, one an hour": {
    volatility: () => () => MINUTE_DEVIATION,
    jumpsPerMinute: 1 / 60,
  },
};

for (const [name, { volatility, jumpsPerMinute = 0 }] of Object.entries(markets)) {
  Deno.test(`Simulated market, ${name}: boxes hold as often as forecast, at every horizon`, () => {
    const random = seededRandom(1);
    const forecasts = new MarketVolatility({ floor: 0.05, minHistoryMs: MINUTE_MS });
    const deviationAt = volatility(random);
    let log = Math.log(1e9);
    let before = 0;
    for (let minute = 0; minute < DAYS * 1_440; minute++) {
      const deviation = deviationAt(minute, before) / Math.sqrt(MOVES);
      const open = log;
      let [high, low] = [log, log];
      for (let move = 0; move < MOVES; move++) {
        log += deviation * gaussian(random);
        high = Math.max(high, log);
        low = Math.min(low, log);
      }
      if (random() < jumpsPerMinute) {
        log += MINUTE_DEVIATION * Math.sqrt(10) * gaussian(random);
        high = Math.max(high, log);
        low = Math.min(low, log);
      }
      before = log - open;
      const [o, h, l, c] = [open, high, low, log].map((value) => Math.round(Math.exp(value)));
      const candle = { open: o!, high: h!, low: l!, close: c! }; // four values
      forecasts.addCandle({ timeMs: minute * MINUTE_MS, durationMs: MINUTE_MS, ...candle });
    }
    const seen = forecasts.calibrations.filter(({ windows }) => windows > 20);
    assert.ok(seen.length >= 4, "a minute to an hour");
    for (const { horizonMs, boxes } of seen) {
      for (const { predicted, held, error } of boxes) {
        const words = `${horizonMs / MINUTE_MS} m: ${held} ± ${error} held of ${predicted}`;
        assert.ok(Math.abs(held - predicted) < 0.03 + 3 * error, words);
      }
    }
  });
}
