/** What an estimate says, in the words of the slip. */
import type { Estimate, Quote } from "@rangemaker/client";
import { formatAmount } from "../format.ts";

export interface Odds {
  /** Such as `× 1.85`. */
  multiplier: string;
  /** That the price stays in the box, by the maker; undefined if it has no model. */
  chance: string | undefined;
  /** The chance at which payouts equal stakes. */
  breakEven: string;
  /** Set if the chance is far below break-even, the payout the largest of the maker, or barely more than the stake, or the chance is unknown. */
  warning: string | undefined;
}

/** A gain under this share of the stake is barely one. */
const SMALL_GAIN = 0.1;

/** A bet that pays back less than this share of its stake on average is a bad one. */
const POOR_RETURN = 0.75;

/** The maker rounds a payout down: from this share of the highest one on, it is that one. */
const CAPPED_SHARE = 0.99;

/** @param maxPayoutRatio The maker's highest payout as a multiple of the bet, once it is known. */
export function oddsOf(
  { betAmount, payout, probability }: Pick<Estimate, "betAmount" | "payout" | "probability">,
  maxPayoutRatio: number | undefined,
): Odds {
  const ratio = Number(payout) / Number(betAmount);
  const isCapped = maxPayoutRatio !== undefined && ratio >= CAPPED_SHARE * maxPayoutRatio;
  const isPoor = probability !== undefined && probability * ratio < POOR_RETURN;
  return {
    multiplier: `× ${(Math.floor(100 * ratio) / 100).toFixed(2)}`,
    chance: probability === undefined ? undefined : chanceText(probability),
    breakEven: chanceText(1 / ratio),
    warning: isPoor
      ? "The chance is far below break-even: on average, such a bet pays back " +
        `${formatAmount(BigInt(Math.floor(probability * Number(payout))))} of ` +
        `${formatAmount(betAmount)} USDC.`
      : isCapped
      ? `The payout is capped at × ${maxPayoutRatio}: a less likely box pays no more.`
      : probability === undefined
      ? "This maker prices at random, for tests: its payout says nothing about the chance."
      : ratio < 1 + SMALL_GAIN
      ? `It barely pays more than you bet: you risk ${formatAmount(betAmount)} USDC to win ` +
        `${formatAmount(payout - betAmount)}.`
      : undefined,
  };
}

/**
 * The least that a bet pays if its signed quote is replaced without asking: never less than the
 * stake, or a winner would lose.
 */
export function leastPayout(
  { payout, betAmount }: Pick<Quote, "payout" | "betAmount">,
  tolerancePercent: number,
): bigint {
  const least = payout * BigInt(Math.round(10_000 - 100 * tolerancePercent)) / 10_000n;
  return least > betAmount ? least : betAmount;
}

/** A probability in percent, never 0 or 100. */
export function chanceText(probability: number): string {
  if (probability < 0.001) return "under 0.1 %";
  return probability > 0.999 ? "over 99.9 %" : `${(100 * probability).toFixed(1)} %`;
}
