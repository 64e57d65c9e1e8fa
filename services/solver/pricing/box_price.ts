import { LIMITS } from "../limits.ts";
import { type Box, type Checks, checksOf, noTouchAtChecks } from "./box_probability.ts";
import type { VolatilityForecast } from "./volatility.ts";
import { YEAR_MS } from "./units.ts";

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
  /** Age of the spot, in milliseconds. */
  spotAgeMs: number;
}

/** Probabilities that the user wins. */
export interface BoxPrice {
  /** By the model, with volatility averaged over its uncertainty. */
  probability: number;
  /** For the best-informed user; never lower. The payout is calculated from it. */
  chargedProbability: number;
}

/** Payout ratios are rounded down to multiples of one over this. */
const RATIO_SCALE = 1e12;

/** Prices a box that is not broken, for a spot inside its range. */
export function priceBox(box: Box, model: MarketModel, userLeadMs: number): BoxPrice {
  const mixed = (checks: Checks | undefined) => {
    if (checks === undefined) return 1;
    let sum = 0;
    for (const { volatility, weight } of model.forecast.nodes) {
      const { stillProbability } = model;
      sum += weight * noTouchAtChecks(checks, { volatility, stillProbability });
    }
    return Math.min(1, sum);
  };
  const probability = mixed(checksOf(box));
  const leadMs = model.spotAgeMs + userLeadMs;
  if (leadMs <= 0) return { probability, chargedProbability: probability };
  const { volatility } = model.forecast;
  const charged = mixed(checksWithLead(box, volatility, leadMs));
  return { probability, chargedProbability: Math.max(probability, charged) };
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

/**
 * Assumed move of the price, in deviations, in favour of a user who sees it first. Measured with users
 * one to five minutes ahead: at 0.8 the maker loses at some horizons, at 1.25 less than 1 % of the
 * quotes are worth taking.
 */
const LEAD_DEVIATIONS = 1.25;

/**
 * The box as seen by a user who knows the price `leadMs` earlier: that part of the window has already
 * survived, and the price moved towards the centre, at most to it. The increase of the probability is
 * larger for a longer lead and for a shorter box.
 *
 * @returns Undefined if such a user sees the whole window.
 */
export function checksWithLead(box: Box, volatility: number, leadMs: number): Checks | undefined {
  const checks = checksOf({ ...box, nowMs: box.nowMs + leadMs });
  if (checks === undefined) return undefined;
  const toCentre = (checks.toUpper - checks.toLower) / 2;
  const reach = LEAD_DEVIATIONS * volatility * Math.sqrt(leadMs / YEAR_MS);
  const move = Math.sign(toCentre) * Math.min(Math.abs(toCentre), reach);
  return { ...checks, toLower: checks.toLower + move, toUpper: checks.toUpper - move };
}
