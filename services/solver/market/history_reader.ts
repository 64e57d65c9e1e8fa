import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../../lib/clock.ts";
import type { HistoryPage, HistoryQuery } from "../../../lib/net/core_client.ts";
import { pagesOf } from "../../../lib/net/pages.ts";
import { PollingLoop } from "../../../lib/net/polling_loop.ts";
import { RING_SLOTS_DEFAULT } from "../../../lib/prices/price_ring.ts";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import type { MarketData } from "./market_data.ts";

/** Time between two reads of the node's price history. */
const INTERVAL_MS = 1_000;

/** A slot without a price is read again for this long: the node may still record it. */
const SETTLE_MS = 3_000;

/** Most pages of one read of one market: the whole ring has 11. */
const PAGES_MAX = 16;

/** Dependencies of a {@link HistoryReader}. */
export interface HistoryReaderOptions {
  node: { getPriceHistory(query: HistoryQuery): Promise<HistoryPage> };
  book: MarketData;
  clock: Clock;
}

/** Keeps a {@link MarketData} up to date with the core node's price history, slot by slot. */
export class HistoryReader {
  readonly #options: HistoryReaderOptions;
  readonly #log = getLogger([LOG_ROOT, "solver"]);
  /** The first unknown slot of each market. */
  readonly #nextFromMs = new Map<Market, number>();
  readonly #loop: PollingLoop;

  constructor(options: HistoryReaderOptions) {
    this.#options = options;
    this.#loop = new PollingLoop({
      clock: options.clock,
      intervalMs: INTERVAL_MS,
      poll: async (signal) => {
        for (const market of options.book.markets) await this.#read(market, signal);
      },
      // Missing prices also show in the quotes that are refused.
      onFailure: ({ message }) =>
        this.#log.warn("Price history cannot be read: {reason}", { reason: message }),
      onRecovery: () => this.#log.info("Price history can be read again"),
    });
  }

  /** Reads the node's whole history, then its additions. */
  start(): void {
    this.#loop.start();
  }

  /** Stops reading; resolves when no request is in flight. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #read(market: Market, signal: AbortSignal): Promise<void> {
    const { node, book, clock } = this.#options;
    const { base, quote } = market;
    const nowMs = clock.now();
    const to = Math.floor(nowMs / SLOT_MS) * SLOT_MS;
    const from = this.#nextFromMs.get(market) ??
      Math.max(0, to - RING_SLOTS_DEFAULT * SLOT_MS);
    let newestMs = from - SLOT_MS;
    const read = (cursor?: string) => node.getPriceHistory({ base, quote, from, to, cursor });
    for await (const { prices } of pagesOf(read, PAGES_MAX)) {
      newestMs = prices.at(-1)?.time ?? newestMs;
      book.of(market).takeHistory(prices, newestMs + SLOT_MS);
      if (signal.aborted) return;
    }
    this.#nextFromMs.set(market, Math.max(newestMs + SLOT_MS, to - SETTLE_MS));
  }
}
