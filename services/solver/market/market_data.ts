import { PriceRing, RING_SLOTS_DEFAULT } from "../../../lib/prices/price_ring.ts";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import type { MarketCalibration } from "../../../lib/protocol/answers.ts";
import { type Market, type Markets, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { NodePrice } from "../../../lib/protocol/price.ts";
import { StillPrices } from "../pricing/still_prices.ts";
import type { MarketView } from "../pricing/strategy.ts";
import { MarketVolatility, type VolatilityOptions } from "../pricing/volatility.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { pagesOf } from "../../../lib/net/core_reader.ts";
import { PollingLoop } from "../../../lib/net/polling_loop.ts";
import { serviceLog } from "../../../lib/log/logging.ts";

export interface KnownSlot {
  /** Start of the slot, Unix milliseconds. */
  time: number;
  price: bigint;
}

/** Prices of one market: the newest, and the history by slot. */
export class MarketPrices implements MarketView {
  readonly history: PriceRing = new PriceRing();
  readonly volatility: MarketVolatility;
  readonly stillness: StillPrices = new StillPrices();
  #spot: MarketView["spot"];
  #historyEndMs = 0;

  constructor(volatility: MarketVolatility) {
    this.volatility = volatility;
  }

  get spot(): MarketView["spot"] {
    return this.#spot;
  }

  get historyEndMs(): number {
    return this.#historyEndMs;
  }

  /** Records the newest price. A time in the future counts as now; a price of 0 is ignored. */
  setSpot({ price, lastUpdate, state }: NodePrice, nowMs: number): void {
    if (price === 0n) return;
    this.#spot = { price, lastUpdateMs: Math.min(lastUpdate, nowMs), fresh: state === "fresh" };
  }

  /**
   * Adds all recorded prices up to `endMs`, oldest first. Slots that are not newer than the known
   * ones are ignored, and so are invalid prices.
   */
  addHistory(slots: readonly KnownSlot[], endMs: number): void {
    for (const { time, price } of slots) {
      if (time <= (this.history.newest ?? -1) || time % SLOT_MS !== 0 || price === 0n) continue;
      this.history.append(time, price);
      this.stillness.add(time / SLOT_MS, price);
      this.volatility.addSlot(time, price, this.stillness.share);
    }
    this.#historyEndMs = Math.max(this.#historyEndMs, endMs);
  }
}

export class MarketData {
  readonly #pricesByMarket: ReadonlyMap<Market, MarketPrices>;

  /** @param volatilities Restored volatilities by market; the others start empty. */
  constructor(
    options: VolatilityOptions,
    { list }: Markets = SPEC_MARKETS,
    volatilities: ReadonlyMap<Market, MarketVolatility> = new Map(),
  ) {
    const pricesOf = (market: Market) =>
      new MarketPrices(volatilities.get(market) ?? new MarketVolatility(options));
    this.#pricesByMarket = new Map(list.map((market) => [market, pricesOf(market)]));
  }

  get markets(): Iterable<Market> {
    return this.#pricesByMarket.keys();
  }

  pricesOf(market: Market): MarketPrices {
    const prices = this.#pricesByMarket.get(market);
    if (prices === undefined) throw new TypeError(`${market.symbol} is not one of the markets`);
    return prices;
  }

  symbolsWithoutPrice(): string[] {
    return [...this.#pricesByMarket].filter(([, { spot }]) => !spot?.fresh).map(([{ symbol }]) =>
      symbol
    );
  }

  /** Predicted and observed shares of hypothetical boxes that held. */
  calibration(): MarketCalibration[] {
    return [...this.#pricesByMarket].map(([{ symbol }, { volatility }]) => ({
      symbol,
      horizons: volatility.calibrations.filter(({ windows }) => windows > 0)
        .map(({ boxes, ...horizon }) => ({ ...horizon, boxes: [...boxes] })),
    }));
  }

  /** Records a notification of the node's `prices` subscription, by symbol. */
  setSpots(prices: Readonly<Record<string, NodePrice>>, nowMs: number): void {
    for (const [market, known] of this.#pricesByMarket) {
      const price = prices[market.symbol];
      if (price !== undefined) known.setSpot(price, nowMs);
    }
  }
}

/** Time between two reads of the node's price history. */
const HISTORY_INTERVAL_MS = 1_000;

/** Slots after the newest price are read again for this long: the node may still record them. */
const SETTLE_MS = 3_000;

/** Most pages of one read of one market: the whole ring has 11. */
const HISTORY_PAGES_MAX = 16;

export interface HistoryReaderOptions {
  node: Pick<CoreClient, "getPriceHistory">;
  marketData: MarketData;
  clock: Clock;
}

/** Keeps a {@link MarketData} up to date: reads the node's whole history, then its additions. */
export function createHistoryReader(
  { node, marketData, clock }: HistoryReaderOptions,
): PollingLoop {
  const log = serviceLog("solver");
  /** The first unknown slot of each market. */
  const nextFromMs = new Map<Market, number>();
  const readMarket = async (market: Market, signal: AbortSignal): Promise<void> => {
    const { base, quote } = market;
    const to = Math.floor(clock.now() / SLOT_MS) * SLOT_MS;
    const from = nextFromMs.get(market) ?? Math.max(0, to - RING_SLOTS_DEFAULT * SLOT_MS);
    let newestMs = from - SLOT_MS;
    const read = (cursor?: string) => node.getPriceHistory({ base, quote, from, to, cursor });
    for await (const { prices } of pagesOf(read, HISTORY_PAGES_MAX)) {
      newestMs = prices.at(-1)?.time ?? newestMs;
      marketData.pricesOf(market).addHistory(prices, newestMs + SLOT_MS);
      if (signal.aborted) return;
    }
    nextFromMs.set(market, Math.max(newestMs + SLOT_MS, to - SETTLE_MS));
  };
  return new PollingLoop({
    clock,
    intervalMs: HISTORY_INTERVAL_MS,
    async poll(signal) {
      for (const market of marketData.markets) await readMarket(market, signal);
    },
    // A warning is enough: missing prices also show as refused quotes.
    onFailure: ({ message }) =>
      log.warn("Price history cannot be read: {reason}", { reason: message }),
    onRecovery: () => log.info("Price history can be read again"),
  });
}
