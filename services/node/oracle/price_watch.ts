import { MARKETS } from "../../../lib/protocol/markets.ts";
import type { OracleFeed } from "./oracle_feed.ts";

/** What a {@link PriceWatch} tells. */
export interface PriceWatchEvents {
  /** These markets have no fresh price any more, or still none since the start. */
  onStale(symbols: readonly string[]): void;
  /** These markets, told of as stale before, have a fresh price. */
  onFresh(symbols: readonly string[]): void;
}

/**
 * Notices when prices go stale and when they are back, and tells each once. A market without a
 * price counts as stale once a price of the first look would.
 */
export class PriceWatch {
  readonly #feed: OracleFeed;
  readonly #events: PriceWatchEvents;
  readonly #stale = new Set<string>();
  #firstLookMs: number | undefined;

  constructor(feed: OracleFeed, events: PriceWatchEvents) {
    this.#feed = feed;
    this.#events = events;
  }

  /** Compares with the last look. */
  look(nowMs: number): void {
    this.#firstLookMs ??= nowMs;
    const mayBeStale = nowMs - this.#firstLookMs > this.#feed.maxStaleMs;
    const gone: string[] = [];
    const back: string[] = [];
    for (const market of MARKETS) {
      const { symbol } = market;
      const isFresh = this.#feed.isFresh(market, nowMs);
      if (isFresh && this.#stale.delete(symbol)) back.push(symbol);
      if (isFresh || !mayBeStale || this.#stale.has(symbol)) continue;
      this.#stale.add(symbol);
      gone.push(symbol);
    }
    if (gone.length > 0) this.#events.onStale(gone);
    if (back.length > 0) this.#events.onFresh(back);
  }
}
