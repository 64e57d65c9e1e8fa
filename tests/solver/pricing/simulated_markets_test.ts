/** Forecasts on simulated markets. */
import assert from "node:assert/strict";
import { seededRandom } from "../../../lib/random.ts";
import { CANDLE_MS } from "../../../services/solver/pricing/candle.ts";
import { MarketVolatility } from "../../../services/solver/pricing/volatility.ts";
import { SIMULATED_MARKETS, simulatedCandles } from "./simulated_markets.ts";

const DAYS = 12;

for (const [name, market] of Object.entries(SIMULATED_MARKETS)) {
  Deno.test(`Simulated market, ${name}: boxes are won as often as forecast, at every horizon`, () => {
    const forecasts = new MarketVolatility({ floor: 0.05, minHistoryMs: CANDLE_MS });
    for (const candle of simulatedCandles(seededRandom(1), market, DAYS * 1_440)) {
      forecasts.addCandle(candle);
    }
    const seen = forecasts.calibrations.filter(({ windows }) => windows > 20);
    assert.ok(seen.length >= 4, "a minute to an hour");
    for (const { horizonMs, boxes } of seen) {
      for (const { predicted, held, error } of boxes) {
        const words = `${horizonMs / CANDLE_MS} m: ${held} ± ${error} held of ${predicted}`;
        assert.ok(Math.abs(held - predicted) < 0.03 + 3 * error, words);
      }
    }
  });
}
