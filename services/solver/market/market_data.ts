import { PriceRing } from "../../../lib/prices/price_ring.ts";
import type { PricePoint } from "../../../lib/prices/price_slots.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import type { MarketCalibration } from "../../../lib/protocol/answers.ts";
import { type Market, marketKey, type Markets } from "../../../lib/protocol/markets.ts";
import type { NodePrice } from "../../../lib/protocol/price.ts";
import { HISTORY_LAG_MAX_MS } from "../pricing/barrier_strategy.ts";
import { StillPrices } from "../pricing/still_prices.ts";
import { FUTURE_PRICE_MAX_MS, type MarketView } from "../pricing/strategy.ts";
import { MarketVolatility, type VolatilityOptions } from "../pricing/volatility.ts";

/** The solver's view of one market: its newest price, its history by slot, and their statistics. */
export class MarketState implements MarketView {
  readonly symbol: string;
  readonly history: PriceRing = new PriceRing();
  readonly volatility: MarketVolatility;
  readonly stillness: StillPrices = new StillPrices();
  spot: MarketView["spot"];
  historyEndMs = 0;

  constructor(symbol: string, volatility: MarketVolatility) {
    this.symbol = symbol;
    this.volatility = volatility;
  }

  /**
   * Records the newest price; a price of 0 is ignored. A time in the near future counts as now. One
   * further ahead shows that this machine's clock is behind: the price is not fresh.
   */
  setSpot({ price, lastUpdate, state }: NodePrice, nowMs: number): void {
    if (price === 0n) return;
    const isAhead = lastUpdate - nowMs > FUTURE_PRICE_MAX_MS;
    this.spot = {
      price,
      lastUpdateMs: isAhead ? lastUpdate : Math.min(lastUpdate, nowMs),
      fresh: state === "fresh" && !isAhead,
    };
  }

  /**
   * Adds all recorded prices up to `endMs`, oldest first. Slots that are not newer than the known
   * ones are ignored, and so are invalid prices.
   */
  addHistory(slots: readonly PricePoint[], endMs: number): void {
    for (const { time, price } of slots) {
      if (time <= (this.history.newestMs ?? -1) || time % SLOT_MS !== 0 || price === 0n) continue;
      this.history.append(time, price);
      this.stillness.add(time / SLOT_MS, price);
      this.volatility.addSlot(time, price, this.stillness.share);
    }
    this.historyEndMs = Math.max(this.historyEndMs, endMs);
  }

  /** Ends the history with its newest price, since its end was computed from a wrong time. */
  truncateToNewest(): number {
    return this.historyEndMs = (this.history.newestMs ?? -SLOT_MS) + SLOT_MS;
  }
}

/** The state of every market, fed by the node's `prices` and by its history. */
export class MarketData {
  readonly #options: VolatilityOptions;
  readonly states = new Map<Market, MarketState>();

  /** @param volatilities Restored volatilities by market; the others start empty. */
  constructor(
    options: VolatilityOptions,
    { list }: Markets,
    volatilities: ReadonlyMap<Market, MarketVolatility> = new Map(),
  ) {
    this.#options = options;
    for (const market of list) this.reset(market, volatilities.get(market));
  }

  /** Starts a market over: its prices are unknown, such as after a revert of the chain. */
  reset(market: Market, volatility = new MarketVolatility(this.#options)): void {
    this.states.set(market, new MarketState(market.symbol, volatility));
  }

  stateOf(market: Market): MarketState {
    const state = this.states.get(market);
    if (state === undefined) throw new TypeError(`${market.symbol} is not one of the markets`);
    return state;
  }

  /** The markets whose newest price is missing, stale or older than `maxAgeMs`. */
  symbolsWithoutPrice(nowMs: number, maxAgeMs: number): string[] {
    const isUsable = ({ spot }: MarketState) =>
      spot !== undefined && spot.fresh && nowMs - spot.lastUpdateMs <= maxAgeMs;
    return [...this.states.values()].filter((state) => !isUsable(state))
      .map(({ symbol }) => symbol);
  }

  /** The markets whose recorded prices are not known up to now: no bet on them has a price. */
  symbolsWithoutHistory(nowMs: number): string[] {
    return [...this.states.values()]
      .filter(({ historyEndMs }) => Math.abs(nowMs - historyEndMs) > HISTORY_LAG_MAX_MS)
      .map(({ symbol }) => symbol);
  }

  /** Predicted and observed shares of hypothetical boxes that held. */
  calibration(): MarketCalibration[] {
    return [...this.states].map(([{ symbol }, { volatility }]) => ({
      symbol,
      horizons: volatility.calibrations.filter(({ windows }) => windows > 0),
    }));
  }

  /** Records a notification of the node's `prices`; a price of other tokens than ours is ignored. */
  setSpots(prices: Readonly<Record<string, NodePrice>>, nowMs: number): void {
    for (const [market, state] of this.states) {
      const price = prices[market.symbol];
      if (price && marketKey(price) === marketKey(market)) state.setSpot(price, nowMs);
    }
  }
}
