/** Candles of simulated markets, of kinds that no constant of the model was chosen for. */
import { gaussian, type RandomSource } from "../../../lib/random.ts";
import { YEAR_MS } from "../../../lib/time.ts";
import { type Candle, CANDLE_MS } from "../../../services/solver/pricing/candle.ts";

const MINUTE_DEVIATION = 0.6 * Math.sqrt(CANDLE_MS / YEAR_MS);
const START_PRICE = 1e9;

/** A price without a trend. */
export interface SimulatedMarket {
  /** The deviation of a minute, from the number of the minute and the return of the one before. */
  volatility(random: RandomSource): (minute: number, before: number) => number;
  /** Mean moves of a minute; their number is random if there are few. */
  moves?: number;
  /** Jumps of ten minutes' size. */
  jumpsPerMinute?: number;
  /** Prices are bid or ask at random, and multiples of this. */
  tick?: number;
}

const constant = () => () => MINUTE_DEVIATION;

/** Several persistences at once, as real volatility has. */
function longMemory(random: RandomSource): () => number {
  const parts = [5, 60, 720, 8_640].map((minutes) => ({ keep: 2 ** (-1 / minutes), log: 0 }));
  return () => {
    let sum = 0;
    for (const part of parts) {
      part.log = part.keep * part.log + 0.35 * Math.sqrt(1 - part.keep ** 2) * gaussian(random);
      sum += part.log;
    }
    return MINUTE_DEVIATION * Math.exp(sum);
  };
}

/** By name. */
export const SIMULATED_MARKETS: Readonly<Record<string, SimulatedMarket>> = {
  "constant volatility": { volatility: constant },
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
  "jumps of ten minutes' size, one an hour": { volatility: constant, jumpsPerMinute: 1 / 60 },
  "long memory, jumps and ticks": {
    volatility: longMemory,
    moves: 20,
    jumpsPerMinute: 1 / 120,
    tick: 1e5,
  },
  "long memory, and prices that are mostly still": { volatility: longMemory, moves: 3, tick: 2e5 },
};

/** Candles of a market, one after the other. */
export function* simulatedCandles(
  random: RandomSource,
  { volatility, moves = 30, jumpsPerMinute = 0, tick = 1 }: SimulatedMarket,
  minutes: number,
): Generator<Candle> {
  const deviationAt = volatility(random);
  let log = Math.log(START_PRICE);
  let before = 0;
  let close = START_PRICE;
  for (let minute = 0; minute < minutes; minute++) {
    const deviation = deviationAt(minute, before) / Math.sqrt(moves);
    const start = log;
    const open = close;
    let [high, low] = [open, open];
    const move = (size: number) => {
      log += size * gaussian(random);
      close = Math.round(Math.exp(log) / tick + (tick > 1 ? random() - 0.5 : 0)) * tick;
      high = Math.max(high, close);
      low = Math.min(low, close);
    };
    // Chances of 3 per mean move: about as random as Poisson's number, without a long tail.
    for (let chance = 0; chance < 3 * moves; chance++) if (random() < 1 / 3) move(deviation);
    if (random() < jumpsPerMinute) move(MINUTE_DEVIATION * Math.sqrt(10));
    before = log - start;
    yield { timeMs: minute * CANDLE_MS, durationMs: CANDLE_MS, open, high, low, close };
  }
}
