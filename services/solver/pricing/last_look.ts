import { payoutFor } from "./box_price.ts";
import { PricingRefusedError } from "./refusals.ts";

/**
 * Share of the margin by which a price may move before a quote is refused, in either direction. Half
 * of the margin stays with the maker however well the user picks the moment.
 */
const TOLERANCE_OF_MARGIN = 0.5;

/** Two evaluations of the same price differ by less than this. */
const ROUNDING = 1e-9;

/** What a new quote would be made from. */
export interface PriceNow {
  /** That the user wins, as payouts are calculated from it. */
  probability: number;
  margin: number;
  /** Share of the winnings that a new quote withholds. */
  skew: number;
  /** The share that this quote must have withheld at least: `skew`, or less. */
  skewFrom: number;
}

/**
 * Last look: a quote may be executed while its payout, at the current probability, leaves the maker
 * between half and one and a half times its margin. What the book withholds comes off first.
 *
 * The check is symmetric, as the FX Global Code asks of last look (principle 17). A price that moved
 * against the user is refused too: the payout is part of the hash that the user has signed, so the
 * solver cannot raise it, and executing would keep the improvement from the user. A new quote pays it.
 *
 * @throws {PricingRefusedError} `PRICE_MOVED` or `PRICE_IMPROVED`, with both payouts as details.
 */
export function requireLastLook(
  { betAmount, payout }: { betAmount: bigint; payout: bigint },
  { probability, margin, skew, skewFrom }: PriceNow,
): void {
  /** What the payout leaves to the maker on average, had it withheld nothing. */
  const keptBefore = (withheld: number) =>
    1 - (1 + Number(payout - betAmount) / Number(betAmount) / (1 - withheld)) * probability;
  const tolerance = margin * TOLERANCE_OF_MARGIN;
  const current = payoutFor(betAmount, probability, margin, skew);
  const details = { signedPayout: payout.toString(), currentPayout: current?.toString() ?? null };
  const kept = keptBefore(skewFrom);
  if (kept < margin - tolerance - ROUNDING) {
    throw new PricingRefusedError(
      "PRICE_MOVED",
      `Payout ${payout} would leave ${
        kept.toFixed(4)
      } of the bet ${betAmount} to the solver, below ${
        (margin - tolerance).toFixed(4)
      }: request a new quote`,
      { details },
    );
  }
  if (current === undefined || keptBefore(skew) <= margin + tolerance + ROUNDING) return;
  const priceImprovement = current - payout;
  // A payout at the limit, or of a bet that rounding decides, cannot improve.
  if (Number(priceImprovement) <= tolerance * Number(payout)) return;
  throw new PricingRefusedError(
    "PRICE_IMPROVED",
    `Payout ${payout} is ${priceImprovement} below the ${current} of a new quote: request it`,
    { details },
  );
}
