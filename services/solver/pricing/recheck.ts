import { payoutFor } from "./box_price.ts";
import { refusal } from "./refusals.ts";

/**
 * Share of the margin by which a price may move before a quote is refused, in either direction. The
 * maker keeps half of the margin even if the user picks the best moment.
 */
const TOLERANCE_OF_MARGIN = 0.5;

/** Two evaluations of the same price differ by less than this. */
const ROUNDING = 1e-9;

/** The inputs of a new quote. */
export interface PriceNow {
  /** Probability that the user wins, as used for payouts. */
  probability: number;
  margin: number;
  /** Share of the winnings that a new quote withholds. */
  skew: number;
  /** Share of the winnings that this quote must have withheld at least: 0 once it is recorded. */
  withheldAtLeast: number;
}

/**
 * The recheck of a price, called last look in trading: a quote may be executed while its payout, at
 * the current probability, leaves the maker between half and one and a half times its margin. What
 * the book withholds is deducted first.
 *
 * The check is symmetric, as the FX Global Code asks of last look (principle 17). A price that
 * moved against the user is refused too: the payout is part of the hash that the user has signed,
 * so the solver cannot raise it, and executing would keep the improvement from the user. A new
 * quote pays it.
 *
 * @throws A `PricingRefusedError`: `PRICE_MOVED` or `PRICE_IMPROVED`, with both payouts as details.
 */
export function requirePayout(
  { betAmount, payout }: { betAmount: bigint; payout: bigint },
  { probability, margin, skew, withheldAtLeast }: PriceNow,
): void {
  /** The maker's average share of the payout before the part withheld for the book. */
  const makerShareBeforeSkew = (withheld: number) =>
    1 - (1 + Number(payout - betAmount) / Number(betAmount) / (1 - withheld)) * probability;
  const tolerance = margin * TOLERANCE_OF_MARGIN;
  const current = payoutFor(betAmount, probability, margin, skew);
  const kept = makerShareBeforeSkew(withheldAtLeast);
  const minKept = margin - tolerance;
  if (kept < minKept - ROUNDING) {
    const currentPayout = current ?? null;
    throw refusal("PRICE_MOVED", { signedPayout: payout, currentPayout, kept, minKept });
  }
  if (current === undefined || makerShareBeforeSkew(skew) <= margin + tolerance + ROUNDING) return;
  const priceImprovement = current - payout;
  // A payout at the limit, or one that rounding decides, cannot improve.
  if (Number(priceImprovement) <= tolerance * Number(payout)) return;
  throw refusal("PRICE_IMPROVED", { signedPayout: payout, currentPayout: current });
}
