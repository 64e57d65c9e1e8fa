import { LIMITS } from "../limits.ts";
import { type Box, type Checks, checksOf, noTouchAtChecks } from "./box_probability.ts";
import type { VolatilityForecast } from "./volatility.ts";

/** The charges of the maker. */
export interface Charges {
  /** Share of each fair payout that the maker keeps, 0 to below 1. */
  margin: number;
  /** How much earlier than the maker the fastest user may see prices, in milliseconds. */
  userLeadMs: number;
}

/** The model's state of a market. */
export interface MarketModel {
  forecast: VolatilityForecast;
  /** Probability that the price does not move from one slot to the next. */
  stillProbability: number;
}

/** Probabilities that the user wins. */
export interface BoxPrice {
  /** By the model, with volatility averaged over its uncertainty. */
  probability: number;
  /** If the box survives until its second look; never lower. The payout is calculated from it. */
  chargedProbability: number;
}

/** Payout ratios are rounded down to multiples of one over this. */
const RATIO_SCALE = 1e12;

/**
 * Prices a box that is not broken, for a spot inside its range.
 *
 * An execution waits `holdMs` for its second look, and a box that breaks meanwhile is refused. So the
 * bets that are executed have survived that time, and are worth more than the quoted box: the nearer
 * to a bound, the more.
 */
export function priceBox(
  box: Box,
  { forecast, stillProbability }: MarketModel,
  holdMs: number,
): BoxPrice {
  const mixed = (checks: Checks | undefined) => {
    if (checks === undefined) return 1;
    let sum = 0;
    for (const { volatility, weight } of forecast.nodes) {
      sum += weight * noTouchAtChecks(checks, { volatility, stillProbability });
    }
    return Math.min(1, sum);
  };
  const probability = mixed(checksOf(box));
  if (holdMs <= 0) return { probability, chargedProbability: probability };
  const held = mixed(checksOf({ ...box, endMs: Math.min(box.endMs, box.nowMs + holdMs) }));
  return { probability, chargedProbability: probability < held ? probability / held : 1 };
}

/**
 * The payout at which the maker earns its margin on average, up to the limit.
 *
 * @param skew Share of the winnings that is withheld.
 * @returns Undefined if it would not be more than the bet.
 */
export function payoutFor(
  betAmount: bigint,
  probability: number,
  margin: number,
  skew = 0,
): bigint | undefined {
  const ratio = (1 - margin) / probability;
  const full = Math.min(ratio, Number(LIMITS.maxPayoutRatio));
  const bounded = Math.min(full, 1 + (full - 1) * (1 - skew));
  const payout = betAmount * BigInt(Math.floor(bounded * RATIO_SCALE)) / BigInt(RATIO_SCALE);
  return payout > betAmount ? payout : undefined;
}
