import { LIMITS } from "../limits.ts";
import { checksWithLead } from "./adverse_selection.ts";
import { type Box, type Checks, checksOf, noTouchAtChecks } from "./box_probability.ts";
import { type SigmaForecast, sigmaNodes } from "./sigma_mixture.ts";

/** The charges of the maker. */
export interface Charges {
  /** Share of each fair payout that the maker keeps, 0 to below 1. */
  margin: number;
  /** How much earlier than the maker the fastest user may see prices, in milliseconds. */
  userLeadMs: number;
}

/** The model's state of a market. */
export interface MarketModel {
  forecast: SigmaForecast;
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
  const nodes = sigmaNodes(model.forecast);
  const mixed = (checks: Checks | undefined) => {
    if (checks === undefined) return 1;
    let sum = 0;
    for (const { volatility, weight } of nodes) {
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
