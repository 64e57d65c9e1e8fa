/** What an estimate says, in the words of the slip. */
import type { Estimate } from "@rangemaker/client";

export interface Odds {
  /** Such as `× 1.85`. */
  multiplier: string;
  /** That the price stays in the box, by the maker; undefined if it has no model. */
  chance: string | undefined;
  /** The chance at which payouts equal stakes. */
  breakEven: string;
  /** Set if the payout is the largest that the maker pays. */
  cap: string | undefined;
}

/** @param maxPayoutRatio The maker's highest payout as a multiple of the bet, once it is known. */
export function oddsOf(
  { betAmount, payout, probability }: Pick<Estimate, "betAmount" | "payout" | "probability">,
  maxPayoutRatio: number | undefined,
): Odds {
  const ratio = Number(payout) / Number(betAmount);
  const isCapped = maxPayoutRatio !== undefined && ratio >= maxPayoutRatio;
  return {
    multiplier: `× ${ratio.toFixed(2)}`,
    chance: probability === undefined ? undefined : chanceText(probability),
    breakEven: chanceText(1 / ratio),
    cap: isCapped
      ? `The payout is capped at × ${maxPayoutRatio}: a less likely box pays no more.`
      : undefined,
  };
}

/** The chance at a payout: both move together, and the estimate is a little older than its quote. */
export function probabilityAt(
  payout: bigint,
  { payout: estimated, probability }: Pick<Estimate, "payout" | "probability">,
): number | undefined {
  if (probability === undefined) return undefined;
  return Math.min(1, probability * Number(estimated) / Number(payout));
}

/** The least that a bet pays if its signed quote is replaced without asking. */
export function leastPayout(payout: bigint, tolerancePercent: number): bigint {
  return payout * BigInt(Math.round(10_000 - 100 * tolerancePercent)) / 10_000n;
}

/** A probability in percent, never 0 or 100. */
function chanceText(probability: number): string {
  if (probability < 0.001) return "under 0.1 %";
  return probability > 0.999 ? "over 99.9 %" : `${(100 * probability).toFixed(1)} %`;
}
