/** What a box or a quote pays, and its chance. */
import type { Estimate, Offer, Quote } from "@rangemaker/client";
import { formatAmount, formatCents } from "../parts/format.ts";

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

const ratioOf = ({ betAmount, payout }: Priced) => Number(payout) / Number(betAmount);

/** What a bet pays for its stake, such as `× 1.85`. Small gains have a third digit, to be seen. */
export function multiplierOf(priced: Priced): string {
  const ratio = ratioOf(priced);
  return `× ${ratio.toFixed(ratio < 1 + SMALL_GAIN ? 3 : 2)}`;
}

/**
 * A warning if the chance is unknown or far below break-even, or the payout capped or very low.
 *
 * @param maxPayoutRatio The maker's highest payout as a multiple of the bet, once it is known.
 */
export function warningOf(priced: Priced, maxPayoutRatio = Infinity): string | undefined {
  const { betAmount, payout, probability } = priced;
  const ratio = ratioOf(priced);
  const capped = ratio >= CAPPED_SHARE * maxPayoutRatio &&
    `The payout is capped at × ${maxPayoutRatio}`;
  if (probability !== undefined && probability * ratio < POOR_RETURN) {
    const back = BigInt(Math.floor(probability * Number(payout)));
    return `${capped ? `${capped},` : "The chance is"} far below break-even: on average, such a ` +
      `bet pays back ${formatCents(back)} of ${formatAmount(betAmount)} USDC.`;
  }
  if (capped) return `${capped}: a less likely box pays no more.`;
  if (probability === undefined) {
    return "This maker prices at random, for tests: its payout says nothing about the chance.";
  }
  return ratio >= 1 + SMALL_GAIN
    ? undefined
    : `It barely pays more than you bet: you risk ${formatAmount(betAmount)} USDC to win ` +
      `${formatCents(payout - betAmount)}.`;
}

/** The probability at which payouts equal stakes on average. */
export function breakEvenOf({ betAmount, payout }: Pick<Quote, "payout" | "betAmount">): string {
  return chanceText(Number(betAmount) / Number(payout));
}

/**
 * Whether a quote may replace the first signed one without asking: its payout, and so its chance,
 * are near enough. It never pays less than the stake, or a winner would lose money.
 */
export function isWithinTolerance(
  { payout, betAmount }: Pick<Quote, "payout" | "betAmount">,
  first: Pick<Quote, "payout">,
  tolerancePercent: number,
): boolean {
  const change = payout > first.payout ? payout - first.payout : first.payout - payout;
  return payout >= betAmount && 100n * change <= first.payout * BigInt(tolerancePercent);
}

/** What makes refusals rarer. */
export const ADVICE = "Taller, longer or later boxes are easier to place.";

/** A probability in percent, never 0 or 100. */
export function chanceText(probability: number): string {
  if (probability < 0.001) return "under 0.1 %";
  return probability > 0.999 ? "over 99.9 %" : `${(100 * probability).toFixed(1)} %`;
}

/** Follows a payout: the maker's probability that the price stays in the box, if it has a model. */
export function withChance({ probability }: { probability?: number }): string {
  return probability === undefined ? "" : `, chance ${chanceText(probability)}`;
}

export type Priced = Pick<Estimate, "betAmount" | "payout" | "probability">;

/** What a box or a quote pays, to be spoken. */
export function paysText(priced: Priced): string {
  return `pays ${formatCents(priced.payout)} USDC (${multiplierOf(priced)})` +
    `${withChance(priced)}, break-even ${breakEvenOf(priced)}`;
}

/** The outcome of a bet whose price moved while it was signed. */
export function repricedText(first: Offer, placed: Offer): string {
  return `You signed for ${formatCents(first.quote.payout)} USDC; the odds changed as you did: ` +
    `it pays ${formatCents(placed.quote.payout)} USDC${withChance(placed)}.`;
}
