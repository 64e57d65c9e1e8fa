import { payoutFor } from "./box_price.ts";
import { PricingRefusedError } from "./refusals.ts";

/**
 * Share of the margin by which a price may move before a quote is refused, in either direction. Half
 * of the margin stays with the maker however well the user picks the moment.
 */
const TOLERANCE_OF_MARGIN = 0.5;

/** Two evaluations of the same price differ by less than this. */
const ROUNDING = 1e-9;

/**
 * Last look: a quote may be executed while its payout, at the current probability, leaves the maker
 * between half and one and a half times its margin.
 *
 * The check is symmetric, as the FX Global Code asks of last look (principle 17). A price that moved
 * against the user is refused too: the payout is part of the hash that the user has signed, so the
 * solver cannot raise it, and executing would keep the improvement from the user. A new quote pays it.
 *
 * @param probability That the user wins, as payouts are calculated from it.
 * @throws {PricingRefusedError} `PRICE_MOVED` or `PRICE_IMPROVED`.
 */
export function requireLastLook(
  betAmount: bigint,
  payout: bigint,
  probability: number,
  margin: number,
): void {
  const kept = 1 - Number(payout) * probability / Number(betAmount);
  const tolerance = margin * TOLERANCE_OF_MARGIN;
  if (kept < margin - tolerance - ROUNDING) {
    throw new PricingRefusedError(
      "PRICE_MOVED",
      `Payout ${payout} would leave ${
        kept.toFixed(4)
      } of the bet ${betAmount} to the solver, below ${
        (margin - tolerance).toFixed(4)
      }: request a new quote`,
    );
  }
  if (kept <= margin + tolerance + ROUNDING) return;
  const improved = payoutFor(betAmount, probability, margin) ?? payout;
  const priceImprovement = improved - payout;
  // A payout at the limit, or of a bet that rounding decides, cannot improve.
  if (Number(priceImprovement) <= tolerance * Number(payout)) return;
  throw new PricingRefusedError(
    "PRICE_IMPROVED",
    `Payout ${payout} is ${priceImprovement} below the ${improved} of a new quote: request it`,
  );
}
