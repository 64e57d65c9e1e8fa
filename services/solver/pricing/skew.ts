import type { BetTerms } from "../../../lib/protocol/terms.ts";
import type { StrategyContext } from "./strategy.ts";

/** A maker's charge for the bets in its book. */
export interface SkewOptions extends Pick<StrategyContext, "riskBeside"> {
  /** Share of the winnings that is withheld at full capacity, 0 to below 1. */
  share: number;
  /** Risk in the direction of a bet at full capacity, USDC with 6 decimals. */
  capacity: bigint;
}

/**
 * Share of a bet's winnings that is withheld, since similar bets tend to be lost together. It grows in
 * proportion to what they risk. A maker with logarithmic utility whose wealth is the capacity would
 * withhold all at full capacity (the Kelly criterion); `share` is the charged part of that.
 *
 * @param ownRisk The bet's own part of the risk, if the book already contains it.
 */
export function bookSkew(
  options: SkewOptions | undefined,
  bet: BetTerms,
  ownRisk: bigint = 0n,
): number {
  if (options === undefined || options.share === 0) return 0;
  const { riskBeside, share, capacity } = options;
  const others = riskBeside(bet) - Number(ownRisk);
  return others <= 0 ? 0 : share * Math.min(1, others / Number(capacity));
}
