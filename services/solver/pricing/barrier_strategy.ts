import type { Bet } from "../../../lib/protocol/bet.ts";
import { type BoxPrice, type MarketModel, needsHold, payoutFor, priceBox } from "./box_price.ts";
import type { BoxToPrice } from "./box_probability.ts";
import { requirePayout } from "./recheck.ts";
import { refusal } from "./refusals.ts";
import {
  FUTURE_PRICE_MAX_MS,
  type MarketView,
  type PricedBet,
  type PricingDetails,
  PricingRefusedError,
  type PricingStrategy,
  type StrategyContext,
} from "./strategy.ts";
import type { VolatilityForecast } from "./volatility_forecast.ts";

export interface BarrierStrategyOptions extends Pick<StrategyContext, "clock" | "market"> {
  /** Share of each fair payout that the maker keeps, 0 to below 1. */
  margin: number;
  /** How much earlier than the maker the fastest user may see prices, in milliseconds. */
  userLeadMs: number;
  /** Without it, the book has no effect on prices. */
  skew?: SkewOptions;
  /** Highest age of a price for quotes, in milliseconds. */
  maxPriceAgeMs: number;
  /** Shortest window, in milliseconds. */
  minDurationMs: number;
  /** Narrowest range, in smallest price moves. */
  minWidthTicks: number;
}

/** A history that ended longer ago than this is too old for pricing. */
export const HISTORY_LAG_MAX_MS = 10_000;

/** A bet with everything that determines its price. */
interface Valuation extends BoxPrice {
  box: BoxToPrice;
  model: MarketModel;
  /** How long the box is held if it {@link needsHold}: the fastest user's lead on the spot. */
  holdMs: number;
  spotAgeMs: number;
}

/** Prices a box as a double no-touch option on the oracle's prices. */
export class BarrierStrategy implements PricingStrategy {
  readonly name = "barrier";
  readonly #options: BarrierStrategyOptions;

  constructor(options: BarrierStrategyOptions) {
    this.#options = options;
  }

  price(bet: Bet): PricedBet & { details: PricingDetails } {
    const { margin, skew: skewOptions } = this.#options;
    const { box, model, spotAgeMs, probability, chargedProbability } = this.#requireValuation(bet);
    const skew = bookSkew(skewOptions, bet);
    const details: PricingDetails = {
      probability,
      chargedProbability,
      volatility: model.forecast.volatility,
      volatilitySpread: model.forecast.spread,
      stillShare: model.stillShare,
      spot: box.spot.toString(),
      spotAgeMs,
      margin,
      skew,
    };
    const payout = payoutFor(bet.betAmount, chargedProbability, margin, skew);
    if (payout !== undefined) return { payout, details };
    const facts = { betAmount: bet.betAmount, probability: chargedProbability, margin };
    throw refusal("PAYOUT_TOO_LOW", facts, details);
  }

  /**
   * After the hold, the solver has seen all that the fastest user saw when the execution was
   * accepted. A box on which such a user gains nothing is not held.
   */
  holdMs(bet: Bet, payout: bigint): number {
    const { maxPriceAgeMs, userLeadMs } = this.#options;
    try {
      const { box, model, holdMs, probability } = this.#requireValuation(bet);
      const valuePerBet = probability * Number(payout) / Number(bet.betAmount);
      return needsHold(box, model, holdMs, valuePerBet) ? holdMs : 0;
    } catch (thrown) {
      if (thrown instanceof PricingRefusedError) return userLeadMs + maxPriceAgeMs;
      throw thrown;
    }
  }

  recheck(bet: Bet, payout: bigint, { isRecorded }: { isRecorded: boolean }): void {
    const { margin, skew: skewOptions } = this.#options;
    const { probability, chargedProbability } = this.#requireValuation(bet);
    const terms = { ...bet, payout };
    if (isRecorded) {
      // The box is still unbroken after its hold, and the book counts the bet.
      const skew = bookSkew(skewOptions, bet, payout - bet.betAmount);
      return requirePayout(terms, { probability, margin, skew, withheldAtLeast: 0 });
    }
    const skew = bookSkew(skewOptions, bet);
    requirePayout(terms, { probability: chargedProbability, margin, skew, withheldAtLeast: skew });
  }

  /** @throws A `PricingRefusedError` if the bet has no price now, at any payout. */
  #requireValuation(bet: Bet): Valuation {
    const { market, clock, margin, userLeadMs } = this.#options;
    const nowMs = clock.now();
    this.#requireWindow(bet, nowMs);
    const view = market(bet);
    const { price: spot, ageMs: spotAgeMs } = this.#requireSpot(view, nowMs);
    const forecast = requireForecast(view, nowMs, bet);
    requireInside(bet, spot);
    this.#requireWidth(bet, view);
    requireUnbroken(bet, view, nowMs);
    const model = {
      forecast,
      stillShare: view.stillness.share,
      startFactor: startFactorOf(view, forecast, nowMs, bet.startTime),
    };
    const box = {
      spot,
      lower: bet.lowerPrice,
      upper: bet.upperPrice,
      nowMs,
      startMs: bet.startTime,
      endMs: bet.endTime,
    };
    const holdMs = userLeadMs + spotAgeMs;
    return { box, model, holdMs, spotAgeMs, ...priceBox(box, model, holdMs, margin) };
  }

  #requireWindow({ startTime, endTime }: Bet, nowMs: number): void {
    if (endTime <= nowMs) throw refusal("WINDOW_ENDED", { endTime, agoMs: nowMs - endTime });
    const { minDurationMs } = this.#options;
    const durationMs = endTime - startTime;
    if (durationMs < minDurationMs) {
      throw refusal("DURATION_TOO_SHORT", { durationMs, minDurationMs });
    }
  }

  #requireWidth({ lowerPrice, upperPrice }: Bet, { stillness: { tick } }: MarketView): void {
    const { minWidthTicks } = this.#options;
    const width = upperPrice - lowerPrice;
    if (tick === undefined || width >= BigInt(minWidthTicks) * tick) return;
    throw refusal("RANGE_TOO_NARROW", { width, tick, minWidthTicks });
  }

  #requireSpot({ symbol, spot }: MarketView, nowMs: number): { price: bigint; ageMs: number } {
    const { maxPriceAgeMs } = this.#options;
    const ageMs = spot === undefined ? null : nowMs - spot.lastUpdateMs;
    const isTimely = ageMs !== null && ageMs <= maxPriceAgeMs && ageMs >= -FUTURE_PRICE_MAX_MS;
    if (spot?.fresh && isTimely) return { price: spot.price, ageMs: Math.max(0, ageMs) };
    const isStale = spot !== undefined && !spot.fresh;
    throw refusal("PRICE_UNAVAILABLE", { symbol, ageMs, isStale, maxPriceAgeMs });
  }
}

function requireForecast(
  { symbol, volatility, historyEndMs }: MarketView,
  nowMs: number,
  { startTime, endTime }: Bet,
): VolatilityForecast {
  const forecast = volatility.forecast(nowMs, endTime, startTime);
  const lagMs = forecast === undefined || historyEndMs === 0 ? null : nowMs - historyEndMs;
  const isRead = lagMs !== null && Math.abs(lagMs) <= HISTORY_LAG_MAX_MS;
  if (forecast !== undefined && isRead) return forecast;
  const { missingMs = 0 } = volatility;
  const facts = { symbol, lagMs, maxLagMs: HISTORY_LAG_MAX_MS, missingMs };
  throw refusal("VOLATILITY_UNAVAILABLE", facts);
}

/**
 * Volatility until the start of a later window, as a share of the forecast's. It decides the price
 * at the start. The path to that price does not matter, hence `endToRangeRatio`.
 */
function startFactorOf(
  { volatility }: MarketView,
  forecast: VolatilityForecast,
  nowMs: number,
  startMs: number,
): number {
  const start = startMs > nowMs ? volatility.forecast(nowMs, startMs) : undefined;
  return start === undefined ? 1 : start.endToRangeRatio * start.volatility / forecast.volatility;
}

function requireInside({ lowerPrice, upperPrice }: Bet, spot: bigint): void {
  if (spot >= lowerPrice && spot <= upperPrice) return;
  throw refusal("OUTSIDE_RANGE", { price: spot, lowerPrice, upperPrice });
}

/** Checks the past part of a window: all its prices must be known and inside the range. */
function requireUnbroken(bet: Bet, view: MarketView, nowMs: number): void {
  const { startTime, lowerPrice, upperPrice } = bet;
  if (startTime >= nowMs) return;
  const knownTo = Math.min(nowMs, view.historyEndMs);
  const range = { lower: lowerPrice, upper: upperPrice };
  const { outside, missing } = view.history.checkRange(startTime, knownTo, range);
  if (outside !== undefined) {
    throw refusal("RANGE_BROKEN", { price: outside.price, time: outside.time });
  }
  const [gap] = missing;
  if (gap !== undefined) throw refusal("HISTORY_UNAVAILABLE", { from: gap.from, to: gap.to });
}

/** A maker's charge for the bets in its book. */
interface SkewOptions extends Pick<StrategyContext, "correlatedRisk"> {
  /** Share of the winnings that is withheld at full capacity, 0 to below 1. */
  share: number;
  /** Risk in the direction of a bet at full capacity, USDC with 6 decimals. */
  capacity: bigint;
}

/**
 * Share of a bet's winnings that is withheld, since similar bets tend to be lost together. It is
 * proportional to their risk. A maker with logarithmic utility whose wealth is the capacity would
 * withhold all at full capacity (the Kelly criterion); `share` is the charged part of that.
 *
 * @param ownRisk The bet's own part of the risk, if the book already contains it.
 */
export function bookSkew(
  options: SkewOptions | undefined,
  bet: Bet,
  ownRisk: bigint = 0n,
): number {
  if (options === undefined || options.share === 0) return 0;
  const { correlatedRisk, share, capacity } = options;
  const others = correlatedRisk(bet) - Number(ownRisk);
  return others <= 0 ? 0 : share * Math.min(1, others / Number(capacity));
}
