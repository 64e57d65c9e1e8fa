import { getLogger } from "@logtape/logtape";
import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import type { HistoryPage, HistoryQuery } from "../../../lib/net/core_client.ts";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { RING_SLOTS_DEFAULT } from "../../../lib/prices/price_ring.ts";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { type Market, MARKETS } from "../../../lib/protocol/markets.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import type { MarketData } from "./market_data.ts";

/** Time between two looks at the node's price history. */
const INTERVAL_MS = 1_000;

/** A slot without a price is asked for again this long: the node may yet be about to record it. */
const SETTLE_MS = 3_000;

/** Pages of one look at one market: the whole ring takes 11. */
const PAGES_MAX = 16;

/** What a {@link HistoryReader} works with. */
export interface HistoryReaderOptions {
  node: { getPriceHistory(query: HistoryQuery): Promise<HistoryPage> };
  book: MarketData;
  clock: Clock;
}

/** Keeps a {@link MarketData} up to date with the core node's price history, slot by slot. */
export class HistoryReader {
  readonly #options: HistoryReaderOptions;
  readonly #log = getLogger([LOG_ROOT, "solver"]);
  /** Of each market: the first slot that is not known yet. */
  readonly #nextFromMs = new Map<Market, number>();
  #cancel: CancelTimer = () => {};
  #reading: Promise<void> = Promise.resolve();
  #stopped = false;
  #failing = false;

  constructor(options: HistoryReaderOptions) {
    this.#options = options;
  }

  /** Reads what the node holds, then what it adds. */
  start(): void {
    this.#reading = this.#run();
  }

  /** Reads no more; resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#reading;
  }

  async #run(): Promise<void> {
    try {
      for (const market of MARKETS) await this.#read(market);
      if (this.#failing) this.#log.info("Price history can be read again");
      this.#failing = false;
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      // Told once for each outage; what is missing shows in the quotes that are refused.
      if (!this.#failing) {
        this.#log.warn("Price history cannot be read: {reason}", { reason: messageOf(thrown) });
      }
      this.#failing = true;
    }
    if (this.#stopped) return;
    this.#cancel = this.#options.clock.after(INTERVAL_MS, () => this.start());
  }

  async #read(market: Market): Promise<void> {
    const { node, book, clock } = this.#options;
    const { base, quote } = market;
    const nowMs = clock.now();
    const to = Math.floor(nowMs / SLOT_MS) * SLOT_MS;
    const from = this.#nextFromMs.get(market) ??
      Math.max(0, to - RING_SLOTS_DEFAULT * SLOT_MS);
    let cursor: string | undefined;
    let newestMs = from - SLOT_MS;
    for (let page = 0; page < PAGES_MAX && !this.#stopped; page++) {
      const { prices, nextCursor } = await node.getPriceHistory({ base, quote, from, to, cursor });
      newestMs = prices.at(-1)?.time ?? newestMs;
      book.of(market).takeHistory(prices, newestMs + SLOT_MS);
      if (nextCursor === null) break;
      cursor = nextCursor;
    }
    this.#nextFromMs.set(market, Math.max(newestMs + SLOT_MS, to - SETTLE_MS));
  }
}
