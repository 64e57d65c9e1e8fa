import { type Market, type Markets, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { formatPrice } from "../../../lib/protocol/price.ts";
import type { BetTerms } from "../../../lib/protocol/terms.ts";
import { type BoxPrice, type Charges, type MarketModel, payoutFor, priceBox } from "./box_price.ts";
import { requireLastLook } from "./last_look.ts";
import {
  type MarketView,
  type Price,
  type PricingDetails,
  PricingRefusedError,
  type PricingStrategy,
  type StrategyContext,
} from "./strategy.ts";
import type { VolatilityForecast } from "./volatility.ts";

/** Options of a {@link BarrierStrategy}. */
export interface BarrierOptions extends Charges, Pick<StrategyContext, "clock" | "marketView"> {
  /** Without it, the book has no effect on prices. */
  skew?: SkewOptions;
  /** Those of the specification by default. */
  markets?: Markets;
  /** Highest age of a price for quotes, in milliseconds. */
  maxPriceAgeMs: number;
  /** Shortest window, in milliseconds. */
  minDurationMs: number;
  /** Narrowest range, in smallest price moves. */
  minWidthTicks: number;
}

/** A history that ends earlier than this is too old to price from. */
const HISTORY_LAG_MAX_MS = 10_000;

/** A bet with everything that determines its price. */
interface Valuation extends BoxPrice {
  model: MarketModel;
  spot: bigint;
  spotAgeMs: number;
}

/** Prices a box as a double no-touch option on the oracle's prices. */
export class BarrierStrategy implements PricingStrategy {
  readonly name = "barrier";
  readonly #options: BarrierOptions;

  constructor(options: BarrierOptions) {
    this.#options = options;
  }

  price(bet: BetTerms): Price & { details: PricingDetails } {
    const { margin, skew: options } = this.#options;
    const { model, spot, spotAgeMs, probability, chargedProbability } = this.#value(bet);
    const skew = bookSkew(options, bet);
    const details: PricingDetails = {
      probability,
      chargedProbability,
      volatility: model.forecast.volatility,
      volatilitySpread: model.forecast.spread,
      stillProbability: model.stillProbability,
      spot: spot.toString(),
      spotAgeMs,
      margin,
      skew,
    };
    const payout = payoutFor(bet.betAmount, chargedProbability, margin, skew);
    if (payout !== undefined) return { payout, details };
    throw new PricingRefusedError(
      "PAYOUT_TOO_LOW",
      `Bet ${bet.betAmount} would not pay more than itself: the user wins with a probability of ${
        chargedProbability.toFixed(4)
      } and the margin is ${margin}; choose a narrower range, a longer window or a larger bet`,
      { pricing: details },
    );
  }

  /** By then this solver sees at least what the fastest user saw when the execution was accepted. */
  holdMs({ base, quote }: BetTerms): number {
    const { marketView, clock, userLeadMs, markets = SPEC_MARKETS } = this.#options;
    const market = markets.find(base, quote);
    const spot = market && marketView(market).spot;
    const spotAgeMs = spot === undefined ? 0 : Math.max(0, clock.now() - spot.lastUpdateMs);
    return userLeadMs + spotAgeMs;
  }

  recheck(bet: BetTerms, payout: bigint, isRecorded = false): void {
    const { margin, skew: options } = this.#options;
    const value = this.#value(bet);
    // The box of a recorded execution has survived its wait.
    const probability = isRecorded ? value.probability : value.chargedProbability;
    // The book already counts this bet.
    const skew = bookSkew(options, bet, payout - bet.betAmount);
    const skewFrom = isRecorded ? 0 : skew;
    requireLastLook({ ...bet, payout }, { probability, margin, skew, skewFrom });
  }

  /** @throws {PricingRefusedError} If the bet has no price now, at any payout. */
  #value(bet: BetTerms): Valuation {
    const { marketView, clock, userLeadMs, markets = SPEC_MARKETS } = this.#options;
    const nowMs = clock.now();
    this.#requireWindow(bet, nowMs);
    const market = markets.find(bet.base, bet.quote);
    if (market === undefined) {
      throw new TypeError(`No market has base ${bet.base}: the rules are checked before the price`);
    }
    const view = marketView(market);
    const { price: spot, ageMs: spotAgeMs } = this.#spot(market, view, nowMs);
    const forecast = requireForecast(market, view, nowMs, bet.endTime);
    requireInside(bet, spot);
    this.#requireWidth(bet, view);
    requireUnbroken(bet, view, nowMs);
    const model = { forecast, stillProbability: view.standing.probability };
    const box = {
      spot,
      lower: bet.lowerPrice,
      upper: bet.upperPrice,
      nowMs,
      startMs: bet.startTime,
      endMs: bet.endTime,
    };
    return { model, spot, spotAgeMs, ...priceBox(box, model, spotAgeMs + userLeadMs) };
  }

  #requireWindow({ startTime, endTime }: BetTerms, nowMs: number): void {
    if (endTime <= nowMs) {
      throw new PricingRefusedError(
        "WINDOW_ENDED",
        `Window ended at ${endTime}, ${nowMs - endTime} ms ago: choose a later one`,
      );
    }
    const { minDurationMs } = this.#options;
    if (endTime - startTime >= minDurationMs) return;
    throw new PricingRefusedError(
      "DURATION_TOO_SHORT",
      `Duration of ${endTime - startTime} ms is below ${minDurationMs} ms ` +
        "(--min-duration-ms): choose a longer window",
    );
  }

  #requireWidth({ lowerPrice, upperPrice }: BetTerms, { standing: { tick } }: MarketView): void {
    const { minWidthTicks } = this.#options;
    if (tick === undefined || upperPrice - lowerPrice >= BigInt(minWidthTicks) * tick) return;
    throw new PricingRefusedError(
      "RANGE_TOO_NARROW",
      `Range of ${
        formatPrice(upperPrice - lowerPrice)
      } is narrower than ${minWidthTicks} moves of ${formatPrice(tick)} ` +
        "(--min-width-ticks): choose a wider one",
    );
  }

  #spot({ symbol }: Market, { spot }: MarketView, nowMs: number): { price: bigint; ageMs: number } {
    const { maxPriceAgeMs } = this.#options;
    if (spot === undefined) {
      throw new PricingRefusedError(
        "PRICE_UNAVAILABLE",
        `No price of ${symbol} is known yet: try again in a few seconds`,
      );
    }
    const ageMs = Math.max(0, nowMs - spot.lastUpdateMs);
    if (spot.fresh && ageMs <= maxPriceAgeMs) return { price: spot.price, ageMs };
    throw new PricingRefusedError(
      "PRICE_UNAVAILABLE",
      `Price of ${symbol} is ${ageMs} ms old${
        spot.fresh ? `, above ${maxPriceAgeMs} ms` : " and stale by the core node"
      }: try again when there is a newer one`,
    );
  }
}

function requireForecast(
  { symbol }: Market,
  { volatility, historyEndMs }: MarketView,
  nowMs: number,
  endMs: number,
): VolatilityForecast {
  const forecast = volatility.forecast(nowMs, endMs);
  if (forecast === undefined) {
    throw new PricingRefusedError(
      "VOLATILITY_UNAVAILABLE",
      `Price history of ${symbol} is too short for a volatility ` +
        "(--volatility-history-ms): try again in a minute",
    );
  }
  if (nowMs - historyEndMs <= HISTORY_LAG_MAX_MS) return forecast;
  throw new PricingRefusedError(
    "VOLATILITY_UNAVAILABLE",
    `Price history of ${symbol} ends ${
      nowMs - historyEndMs
    } ms ago, above ${HISTORY_LAG_MAX_MS} ms: try again in a few seconds`,
  );
}

function requireInside({ lowerPrice, upperPrice }: BetTerms, spot: bigint): void {
  if (spot >= lowerPrice && spot <= upperPrice) return;
  throw new PricingRefusedError(
    "OUTSIDE_RANGE",
    `Price ${formatPrice(spot)} is outside ${formatPrice(lowerPrice)} to ${
      formatPrice(upperPrice)
    }: choose a range around it`,
  );
}

/** The past part of a window must be known without a gap, and all inside the range. */
function requireUnbroken(bet: BetTerms, view: MarketView, nowMs: number): void {
  const { startTime, lowerPrice, upperPrice } = bet;
  if (startTime >= nowMs) return;
  const knownTo = Math.min(nowMs, view.historyEndMs);
  const range = { lower: lowerPrice, upper: upperPrice };
  const { outside, missing } = view.history.checkRange(startTime, knownTo, range);
  if (outside !== undefined) {
    throw new PricingRefusedError(
      "RANGE_BROKEN",
      `Price was ${
        formatPrice(outside.price)
      } at ${outside.time}, outside the range: choose a later start`,
    );
  }
  const [gap] = missing;
  if (gap === undefined) return;
  throw new PricingRefusedError(
    "HISTORY_UNAVAILABLE",
    `Window has begun, and its prices from ${gap.from} to ${gap.to} are not known: ` +
      "try again in a few seconds, or choose a later start",
  );
}

/** A maker's charge for the bets in its book. */
interface SkewOptions extends Pick<StrategyContext, "riskBeside"> {
  /** Share of the winnings that is withheld at full capacity, 0 to below 1. */
  share: number;
  /** Risk in the direction of a bet at full capacity, USDC with 6 decimals. */
  capacity: bigint;
}

/**
 * Share of a bet's winnings that is withheld, since similar bets tend to be lost together. It grows in
 * proportion to what they risk. A maker with logarithmic utility whose wealth is the capacity would
 * withhold all at full capacity (the Kelly criterion); `share` is the charged part of that.
 *
 * @param ownRisk The bet's own part of the risk, if the book already contains it.
 */
export function bookSkew(
  options: SkewOptions | undefined,
  bet: BetTerms,
  ownRisk: bigint = 0n,
): number {
  if (options === undefined || options.share === 0) return 0;
  const { riskBeside, share, capacity } = options;
  const others = riskBeside(bet) - Number(ownRisk);
  return others <= 0 ? 0 : share * Math.min(1, others / Number(capacity));
}
