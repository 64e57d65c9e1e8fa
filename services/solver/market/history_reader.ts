import type { Clock } from "../../../lib/clock.ts";
import { CLOCK_DIFFERENCE_MAX_MS } from "../../../lib/intents/clock_comparison.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { readPages } from "../../../lib/net/core_reader.ts";
import { PollingLoop } from "../../../lib/timing/polling_loop.ts";
import { RING_SLOTS_DEFAULT } from "../../../lib/prices/price_ring.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import { HISTORY_LAG_MAX_MS } from "../pricing/barrier_strategy.ts";
import type { MarketData } from "./market_data.ts";

/** Time between two reads of the node's price history. */
const HISTORY_INTERVAL_MS = 1_000;

/**
 * Slots after the newest price are read again for this long: the node may still record them, and
 * has not reached them yet if this clock is ahead of its own.
 */
const SETTLE_MS = 3_000 + CLOCK_DIFFERENCE_MAX_MS;

/** Most pages of one read of one market: the whole ring has 11. */
export const HISTORY_PAGES_MAX = 16;

/** Keeps a {@link MarketData} up to date: reads the node's whole history, then its additions. */
export class HistoryReader {
  readonly #node: Pick<CoreClient, "getPriceHistory">;
  readonly #marketData: MarketData;
  readonly #clock: Clock;
  readonly #polls: PollingLoop;
  /** The first unknown slot of each market. */
  readonly #nextFromMs = new Map<Market, number>();

  constructor(node: Pick<CoreClient, "getPriceHistory">, marketData: MarketData, clock: Clock) {
    this.#node = node;
    this.#marketData = marketData;
    this.#clock = clock;
    const log = serviceLog("solver");
    this.#polls = new PollingLoop({
      clock,
      intervalMs: HISTORY_INTERVAL_MS,
      poll: async (signal) => {
        const reads = await Promise.allSettled(
          Array.from(marketData.markets, (market) => this.#readMarket(market, signal)),
        );
        const failed = reads.find((read) => read.status === "rejected");
        if (failed !== undefined) throw failed.reason;
      },
      // A warning is enough: missing prices also show as refused quotes.
      onFailure: ({ message }) =>
        log.warn("Price history cannot be read: {reason}", { reason: message }),
      onRecovery: () => log.info("Price history can be read again"),
    });
  }

  start(): void {
    this.#polls.start();
  }

  /** Resolves when no read runs any more. */
  stop(): Promise<void> {
    return this.#polls.stop();
  }

  async #readMarket(market: Market, signal: AbortSignal): Promise<void> {
    const { base, quote } = market;
    const to = Math.floor(this.#clock.now() / SLOT_MS) * SLOT_MS;
    if (await this.#isUndone(market, to)) {
      this.#marketData.reset(market);
      this.#nextFromMs.delete(market);
    }
    const known = this.#marketData.stateOf(market);
    const nextMs = this.#nextFromMs.get(market) ?? 0;
    // The clock was ahead at the last read: nothing after the newest price was read.
    const unreadMs = nextMs > to ? Math.min(to, known.truncateToNewest()) : nextMs;
    // Older prices are not available: their empty pages would use up the pages of this read.
    const from = Math.max(0, to - RING_SLOTS_DEFAULT * SLOT_MS, unreadMs);
    let newestMs = from - SLOT_MS;
    const read = (cursor?: string) => this.#node.getPriceHistory({ base, quote, from, to, cursor });
    for await (const { prices } of readPages(read, HISTORY_PAGES_MAX)) {
      newestMs = prices.at(-1)?.time ?? newestMs;
      known.addHistory(prices, newestMs + SLOT_MS);
      if (signal.aborted) return;
    }
    this.#nextFromMs.set(market, Math.max(newestMs + SLOT_MS, to - SETTLE_MS));
  }

  /** Whether the chain went back in time: its newest price is ahead, and the node lacks it. */
  async #isUndone(market: Market, nowMs: number): Promise<boolean> {
    const { newestMs: from = 0 } = this.#marketData.stateOf(market).history;
    if (from - nowMs <= HISTORY_LAG_MAX_MS) return false;
    const { base, quote } = market;
    const { prices } = await this.#node.getPriceHistory({ base, quote, from, to: from + SLOT_MS });
    return prices.length === 0;
  }
}
