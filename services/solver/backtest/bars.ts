import { RangemakerError } from "../../../lib/errors.ts";
import type { Candle } from "../pricing/candle.ts";

/** The backtest cannot run with these options or prices. */
export class BacktestError extends RangemakerError {
  constructor(message: string) {
    super("BACKTEST", message);
  }
}

/**
 * Recorded prices of a time span, integers with 6 decimals. A candle is known once it is over; a slot
 * of 100 ms has one price, known when it starts.
 */
export interface Bar extends Candle {
  /** When the close is known, Unix milliseconds. */
  knownMs: number;
}

/** Recorded prices in order of time. */
export interface BarSource {
  /** Length of each bar. */
  durationMs: number;
  fromMs: number;
  toMs: number;
  bars(): AsyncIterable<readonly Bar[]>;
}

/**
 * How long after a multiple of its length a bar begins. Candles of a file may begin at any time, such
 * as 20 s past each minute; what happens every few bars is counted without that.
 */
export function phaseOf({ timeMs, durationMs }: Candle): number {
  return timeMs % durationMs;
}

/** End of a bar. */
export function endOf({ timeMs, durationMs }: Candle): number {
  return timeMs + durationMs;
}
