import type { CancelTimer, Clock } from "../../lib/clock.ts";
import type { Trade, TradeSource } from "./trade.ts";

/** Trades that are due for longer than this are left out: nobody traded while the machine slept. */
export const CATCH_UP_MS = 2_000;

/** Plays trades of several sources when their time comes. */
export class Pump {
  readonly #clock: Clock;
  readonly #deliver: (trade: Trade) => void;
  readonly #heads: { source: TradeSource; trade: Trade }[];
  #cancelTimer: CancelTimer | undefined;

  constructor(sources: readonly TradeSource[], clock: Clock, deliver: (trade: Trade) => void) {
    this.#clock = clock;
    this.#deliver = deliver;
    this.#heads = sources.map((source) => ({ source, trade: source.next() }));
    if (this.#heads.length === 0) throw new RangeError("Pump needs a source: received none");
  }

  /** Plays what is due, and goes on by itself. */
  start(): void {
    const nowMs = this.#clock.now();
    let dueMs = Infinity;
    for (;;) {
      const head = this.#heads.reduce((a, b) => b.trade.timeMs < a.trade.timeMs ? b : a);
      const { trade } = head;
      if (trade.timeMs > nowMs) {
        dueMs = trade.timeMs;
        break;
      }
      head.trade = head.source.next();
      if (trade.timeMs >= nowMs - CATCH_UP_MS) this.#deliver(trade);
    }
    this.#cancelTimer = this.#clock.after(dueMs - nowMs, () => this.start());
  }

  /** Plays nothing more. */
  stop(): void {
    this.#cancelTimer?.();
  }
}
