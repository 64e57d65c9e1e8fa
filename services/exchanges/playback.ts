import type { CancelTimer, Clock } from "../../lib/clock.ts";
import { spanMs, type TapeRow } from "../../lib/prices/tape.ts";
import { PROVIDER_NAMES } from "../../lib/protocol/providers.ts";
import type { Trade } from "./dialects/dialect.ts";

/** An endless sequence of trades, in order of time. */
export interface TradeSource {
  next(): Trade;
}

/**
 * A recording as a source of trades. It plays in a loop from `startMs` on, at its original speed,
 * and every exchange gets every trade.
 */
export class Tape implements TradeSource {
  readonly #rows: readonly TapeRow[];
  readonly #market: string;
  readonly #loopMs: number;
  #shiftMs: number;
  #position = 0;

  /** @param rows The result of `parseTape`. */
  constructor(rows: readonly TapeRow[], market: string, startMs: number) {
    this.#rows = rows;
    this.#market = market;
    // The pause between the last trade and the first one is the mean pause between trades.
    this.#loopMs = spanMs(rows) + Math.max(1, Math.round(spanMs(rows) / (rows.length - 1)));
    this.#shiftMs = startMs - (rows[0]?.timeMs ?? 0);
  }

  next(): Trade {
    const exchanges = PROVIDER_NAMES.length;
    const row = this.#rows[Math.floor(this.#position / exchanges)];
    const provider = PROVIDER_NAMES[this.#position % exchanges];
    if (row === undefined || provider === undefined) {
      this.#position = 0;
      this.#shiftMs += this.#loopMs;
      return this.next();
    }
    this.#position += 1;
    return { ...row, provider, market: this.#market, timeMs: row.timeMs + this.#shiftMs };
  }
}

/** Trades overdue by more than this are skipped: nothing trades while the machine sleeps. */
const SKIP_AFTER_MS = 2_000;

/** Plays the trades of several sources at their times. */
export class TradePlayer {
  readonly #clock: Clock;
  readonly #deliver: (trade: Trade) => void;
  readonly #upcoming: { source: TradeSource; trade: Trade }[];
  #cancelTimer: CancelTimer | undefined;

  /** @param sources One at least. */
  constructor(sources: readonly TradeSource[], clock: Clock, deliver: (trade: Trade) => void) {
    this.#clock = clock;
    this.#deliver = deliver;
    this.#upcoming = sources.map((source) => ({ source, trade: source.next() }));
  }

  /** Plays due trades, and schedules the next run. */
  start(): void {
    const nowMs = this.#clock.now();
    let dueMs = Infinity;
    for (;;) {
      const upcoming = this.#upcoming.reduce((a, b) => b.trade.timeMs < a.trade.timeMs ? b : a);
      const { trade } = upcoming;
      if (trade.timeMs > nowMs) {
        dueMs = trade.timeMs;
        break;
      }
      upcoming.trade = upcoming.source.next();
      if (trade.timeMs >= nowMs - SKIP_AFTER_MS) this.#deliver(trade);
    }
    this.#cancelTimer = this.#clock.after(dueMs - nowMs, () => this.start());
  }

  stop(): void {
    this.#cancelTimer?.();
  }
}
