import type { CancelTimer, Clock } from "../../lib/clock.ts";
import { spanMs, type TapeRow } from "../../lib/prices/tape.ts";
import { PROVIDER_NAMES } from "../../lib/protocol/providers.ts";
import type { Trade } from "./dialects/dialect.ts";

/** An endless sequence of trades, in order of time. */
export type TradeStream = Generator<Trade, never>;

/**
 * The trades of a recording: in a loop from `startMs` on, at its original speed, each of them at
 * every exchange.
 *
 * @param rows The result of `parseTape`.
 */
export function* tapeTrades(
  rows: readonly TapeRow[],
  market: string,
  startMs: number,
): TradeStream {
  // The pause between the last trade and the first one is the mean pause between trades.
  const loopMs = spanMs(rows) + Math.max(1, Math.round(spanMs(rows) / (rows.length - 1)));
  for (let shiftMs = startMs - (rows[0]?.timeMs ?? 0);; shiftMs += loopMs) {
    for (const row of rows) {
      const timeMs = row.timeMs + shiftMs;
      for (const provider of PROVIDER_NAMES) yield { ...row, provider, market, timeMs };
    }
  }
}

/** Trades overdue by more than this, and all after them, are played later: the machine was asleep. */
const OVERDUE_MAX_MS = 2_000;

/** Plays the trades of several sources at their times. */
export class TradePlayer {
  readonly #clock: Clock;
  readonly #deliver: (trade: Trade) => void;
  readonly #upcoming: { source: TradeStream; trade: Trade }[];
  /**
   * How long the machine was asleep, minus how far its clock was set back. To skip a week's trades
   * would take seconds.
   */
  #shiftMs = 0;
  #lastRunMs = 0;
  #cancelTimer: CancelTimer | undefined;

  /** @param sources One at least. */
  constructor(sources: readonly TradeStream[], clock: Clock, deliver: (trade: Trade) => void) {
    this.#clock = clock;
    this.#deliver = deliver;
    this.#upcoming = sources.map((source) => ({ source, trade: source.next().value }));
  }

  /** Plays due trades, and schedules the next run. */
  start(): void {
    const nowMs = this.#clock.now();
    this.#shiftMs += Math.min(0, nowMs - this.#lastRunMs); // the clock was set back
    this.#lastRunMs = nowMs;
    let dueMs: number;
    for (;;) {
      const upcoming = this.#upcoming.reduce((a, b) => b.trade.timeMs < a.trade.timeMs ? b : a);
      const { trade } = upcoming;
      dueMs = trade.timeMs + this.#shiftMs;
      if (dueMs > nowMs) break;
      if (dueMs < nowMs - OVERDUE_MAX_MS) {
        this.#shiftMs += nowMs - dueMs;
        dueMs = nowMs;
      }
      upcoming.trade = upcoming.source.next().value;
      this.#deliver({ ...trade, timeMs: dueMs });
    }
    this.#cancelTimer = this.#clock.after(dueMs - nowMs, () => this.start());
  }

  stop(): void {
    this.#cancelTimer?.();
  }
}
