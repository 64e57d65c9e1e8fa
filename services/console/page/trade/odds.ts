/** What a box or a quote pays, and its chance. */
import type { Estimate, Offer, Quote } from "@rangemaker/client";
import { formatAmount } from "../format.ts";

export interface Odds {
  /** Such as `× 1.85`: rounded, like the amounts beside it. */
  multiplier: string;
  /** The maker's probability that the price stays in the box; undefined if it has no model. */
  chance: string | undefined;
  /** Set if the chance is unknown or far below break-even, or the payout capped or very low. */
  warning: string | undefined;
}

/** Whether a bet could win less than a thousandth of its stake. */
export function isWorthless({ payout, betAmount }: Pick<Quote, "payout" | "betAmount">): boolean {
  return (payout - betAmount) * 1_000n < betAmount;
}

/** A gain below this share of the stake gets a warning. */
const SMALL_GAIN = 0.1;

/** A bet that returns less than this share of its stake on average gets a warning. */
const POOR_RETURN = 0.75;

/** A payout of at least this share of the maker's highest one is capped: the maker rounds down. */
const CAPPED_SHARE = 0.99;

/** @param maxPayoutRatio The maker's highest payout as a multiple of the bet, once it is known. */
export function oddsOf(
  { betAmount, payout, probability }: Priced,
  maxPayoutRatio: number | undefined,
): Odds {
  const ratio = Number(payout) / Number(betAmount);
  const isCapped = maxPayoutRatio !== undefined && ratio >= CAPPED_SHARE * maxPayoutRatio;
  const isPoor = probability !== undefined && probability * ratio < POOR_RETURN;
  return {
    multiplier: `× ${ratio.toFixed(2)}`,
    chance: probability === undefined ? undefined : chanceText(probability),
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

/** The probability at which payouts equal stakes on average. */
export function breakEvenOf({ betAmount, payout }: Pick<Quote, "payout" | "betAmount">): string {
  return chanceText(Number(betAmount) / Number(payout));
}

/**
 * Whether a quote may replace the first signed one without asking: its payout, and so its chance,
 * are near enough. It never pays less than the stake, or a winner would lose money.
 */
export function isNear(
  { payout, betAmount }: Pick<Quote, "payout" | "betAmount">,
  first: Pick<Quote, "payout">,
  tolerancePercent: number,
): boolean {
  const change = payout > first.payout ? payout - first.payout : first.payout - payout;
  return payout >= betAmount && 100n * change <= first.payout * BigInt(tolerancePercent);
}

/** A probability in percent, never 0 or 100. */
export function chanceText(probability: number): string {
  if (probability < 0.001) return "under 0.1 %";
  return probability > 0.999 ? "over 99.9 %" : `${(100 * probability).toFixed(1)} %`;
}

export type Priced = Pick<Estimate, "betAmount" | "payout" | "probability">;

/** What a box or a quote pays, to be spoken. */
export function paysText(priced: Priced): string {
  const { multiplier, chance } = oddsOf(priced, undefined);
  return `pays ${formatAmount(priced.payout)} USDC (${multiplier})` +
    `${chance === undefined ? "" : `, chance ${chance}`}, break-even ${breakEvenOf(priced)}`;
}

/** The outcome of a bet whose price moved while it was signed. */
export function repricedText(first: Offer, { quote: { payout }, probability }: Offer): string {
  const chance = probability === undefined ? "" : `, chance ${chanceText(probability)}`;
  return `You signed for ${formatAmount(first.quote.payout)} USDC; the odds changed as you did: ` +
    `it pays ${formatAmount(payout)} USDC${chance}.`;
}
