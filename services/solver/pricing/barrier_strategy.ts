import type { Clock } from "../../../lib/clock.ts";
import type { PriceReader } from "../../../lib/prices/price_slots.ts";
import { findMarket, type Market } from "../../../lib/protocol/markets.ts";
import { formatPrice } from "../../../lib/protocol/price.ts";
import { LIMITS } from "../limits.ts";
import type { BetTerms } from "../../../lib/protocol/terms.ts";
import { boxProbability } from "./box_probability.ts";
import {
  type Price,
  type PricingDetails,
  PricingRefusedError,
  type PricingStrategy,
} from "./strategy.ts";

/** A market as far as the solver sees it. */
export interface MarketView {
  /** The newest price, integer with 6 decimals, and when it was the exchanges'; undefined before the first. */
  readonly spot: { price: bigint; lastUpdateMs: number; fresh: boolean } | undefined;
  /** A year; undefined where there is too little history. */
  readonly volatility: number | undefined;
  /** Prices of the past by slot. */
  readonly history: PriceReader;
  /** The history reaches up to here, Unix milliseconds, this moment not included; 0 for none. */
  readonly historyEndMs: number;
}

/** What the maker charges. */
export interface Charges {
  /** Share of each fair payout that the maker keeps, 0 to below 1. */
  margin: number;
  /**
   * For the error of the volatility: bets are priced as if it were lower by this share, 0 to below 1,
   * which makes it more likely that the user wins.
   */
  vegaCharge: number;
}

/** What a {@link BarrierStrategy} works with. */
export interface BarrierOptions extends Charges {
  marketView(market: Market): MarketView;
  clock: Clock;
  /** The oldest price that quotes are made from, in milliseconds. */
  maxPriceAgeMs: number;
}

/** A history that ends further back than this says too little of now. */
const HISTORY_LAG_MAX_MS = 10_000;

/** Two evaluations of the same price differ by less than this. */
const WORTH_TOLERANCE = 1e-9;

/** Payout ratios are rounded down to multiples of one over this. */
const RATIO_SCALE = 1e12;

/** Prices a box as a double no-touch option on the oracle's prices. */
export class BarrierStrategy implements PricingStrategy {
  readonly name = "barrier";
  readonly #options: BarrierOptions;

  constructor(options: BarrierOptions) {
    this.#options = options;
  }

  price(bet: BetTerms): Price & { details: PricingDetails } {
    const { marketView, clock } = this.#options;
    const nowMs = clock.now();
    if (bet.endTime <= nowMs) {
      throw new PricingRefusedError(
        "WINDOW_ENDED",
        `Window ended at ${bet.endTime}, ${nowMs - bet.endTime} ms ago`,
      );
    }
    const market = findMarket(bet.base, bet.quote);
    if (market === undefined) {
      throw new TypeError(`No market has base ${bet.base}: the rules hold before the price`);
    }
    const view = marketView(market);
    const spot = this.#spot(market, view, nowMs);
    const volatility = volatilityOf(market, view, nowMs);
    requireInside(bet, spot);
    requireUnbroken(bet, view, nowMs);
    const { margin, vegaCharge } = this.#options;
    const { payout, ...probabilities } = priceOf(bet, spot, volatility, nowMs, this.#options);
    return {
      payout,
      details: { ...probabilities, volatility, spot: spot.toString(), margin, vegaCharge },
    };
  }

  /** A quote stands until its charges are eaten up: until its payout is worth more than the bet. */
  recheck(bet: BetTerms, payout: bigint): void {
    const { details } = this.price(bet);
    const worth = Number(payout) * details.probability;
    // A payout of the bet itself can be lost by nobody, and rounding is no move of the price.
    if (payout === bet.betAmount || worth <= Number(bet.betAmount) * (1 + WORTH_TOLERANCE)) return;
    throw new PricingRefusedError(
      "PRICE_MOVED",
      `Payout ${payout} is worth ${Math.ceil(worth)} by now, ${
        Math.ceil(worth - Number(bet.betAmount))
      } above the bet ${bet.betAmount}: ask for a new quote`,
    );
  }

  #spot({ symbol }: Market, { spot }: MarketView, nowMs: number): bigint {
    const { maxPriceAgeMs } = this.#options;
    if (spot === undefined) {
      throw new PricingRefusedError("PRICE_UNAVAILABLE", `No price of ${symbol} is known`);
    }
    const ageMs = nowMs - spot.lastUpdateMs;
    if (spot.fresh && ageMs <= maxPriceAgeMs) return spot.price;
    throw new PricingRefusedError(
      "PRICE_UNAVAILABLE",
      `Price of ${symbol} is ${ageMs} ms old${
        spot.fresh ? `, above ${maxPriceAgeMs} ms` : " and stale by the core node"
      }`,
    );
  }
}

/** The model's price of a bet. */
export interface ModelPrice {
  payout: bigint;
  /** That the user wins. */
  probability: number;
  /** The same with the volatility lowered by the vega charge. */
  chargedProbability: number;
}

/** The price of a bet whose window is not broken, from a spot inside its range. */
export function priceOf(
  bet: Pick<BetTerms, "betAmount" | "lowerPrice" | "upperPrice" | "startTime" | "endTime">,
  spot: bigint,
  volatility: number,
  nowMs: number,
  { margin, vegaCharge }: Charges,
): ModelPrice {
  const box = {
    spot,
    lower: bet.lowerPrice,
    upper: bet.upperPrice,
    nowMs,
    startMs: bet.startTime,
    endMs: bet.endTime,
  };
  const probability = boxProbability({ ...box, volatility });
  const chargedProbability = vegaCharge === 0 ? probability : Math.max(
    probability,
    boxProbability({ ...box, volatility: volatility * (1 - vegaCharge) }),
  );
  return {
    payout: payoutFor(bet.betAmount, chargedProbability, margin),
    probability,
    chargedProbability,
  };
}

/** Payout that leaves the maker its margin on average: from the bet itself up to the limit. */
export function payoutFor(betAmount: bigint, probability: number, margin: number): bigint {
  const ratio = (1 - margin) / probability;
  const bounded = Math.max(1, Math.min(ratio, Number(LIMITS.maxPayoutRatio)));
  return betAmount * BigInt(Math.floor(bounded * RATIO_SCALE)) / BigInt(RATIO_SCALE);
}

function volatilityOf({ symbol }: Market, view: MarketView, nowMs: number): number {
  const { volatility, historyEndMs } = view;
  if (volatility === undefined) {
    throw new PricingRefusedError(
      "VOLATILITY_UNAVAILABLE",
      `Price history of ${symbol} is too short to tell its volatility`,
    );
  }
  if (nowMs - historyEndMs <= HISTORY_LAG_MAX_MS) return volatility;
  throw new PricingRefusedError(
    "VOLATILITY_UNAVAILABLE",
    `Price history of ${symbol} ends ${
      nowMs - historyEndMs
    } ms ago, above ${HISTORY_LAG_MAX_MS} ms`,
  );
}

function requireInside({ lowerPrice, upperPrice }: BetTerms, spot: bigint): void {
  if (spot >= lowerPrice && spot <= upperPrice) return;
  throw new PricingRefusedError(
    "OUTSIDE_RANGE",
    `Price ${formatPrice(spot)} is outside ${formatPrice(lowerPrice)} to ${
      formatPrice(upperPrice)
    }`,
  );
}

/** Of a window that has begun, what lies before now and is known must be whole and unbroken. */
function requireUnbroken(bet: BetTerms, view: MarketView, nowMs: number): void {
  const { startTime, lowerPrice, upperPrice } = bet;
  if (startTime >= nowMs) return;
  const knownTo = Math.min(nowMs, view.historyEndMs);
  const range = { lower: lowerPrice, upper: upperPrice };
  const { outside, missing } = view.history.extremes(startTime, knownTo, range);
  if (outside !== undefined) {
    throw new PricingRefusedError(
      "RANGE_BROKEN",
      `Price was ${formatPrice(outside.price)} at ${outside.time}, outside the range`,
    );
  }
  const [gap] = missing;
  if (gap === undefined) return;
  throw new PricingRefusedError(
    "HISTORY_UNAVAILABLE",
    `Window has begun, and its prices from ${gap.from} to ${gap.to} are not known`,
  );
}
