import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import { StillPrices } from "../pricing/still_prices.ts";
import type { MarketView } from "../pricing/strategy.ts";
import type { MarketVolatility } from "../pricing/volatility.ts";
import type { SlotPrice } from "./slots.ts";

/** A strategy's view of one market, fed slot by slot as in production. */
export class TapeMarket implements MarketView {
  readonly symbol = MARKETS[0]!.symbol; // there are three
  readonly volatility: MarketVolatility;
  readonly stillness = new StillPrices();
  readonly history = new PriceRing();
  readonly #priceAgeMs: number;
  /** Prices that are old enough to be seen. */
  #visible: MarketView["spot"];
  #delayed: NonNullable<MarketView["spot"]>[] = [];
  #nowMs = 0;

  /** @param priceAgeMs Age of the spot that strategies see, in milliseconds. */
  constructor(volatility: MarketVolatility, priceAgeMs = 0) {
    this.volatility = volatility;
    this.#priceAgeMs = priceAgeMs;
  }

  /** Adds the newest price. */
  observe({ timeMs, price }: SlotPrice): void {
    this.#nowMs = timeMs;
    const value = BigInt(price);
    this.#delayed.push({ price: value, lastUpdateMs: timeMs, fresh: true });
    while (this.#delayed[0] && this.#delayed[0].lastUpdateMs <= timeMs - this.#priceAgeMs) {
      this.#visible = this.#delayed.shift();
    }
    this.stillness.add(timeMs / SLOT_MS, value);
    this.volatility.addSlot(timeMs, value, this.stillness.share);
    this.history.append(timeMs, value);
  }

  get spot(): MarketView["spot"] {
    return this.#visible;
  }

  get historyEndMs(): number {
    return this.#nowMs;
  }

  /** The newest moment of the recording. */
  get nowMs(): number {
    return this.#nowMs;
  }
}
