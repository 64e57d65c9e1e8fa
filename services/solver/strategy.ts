import type { BetTerms } from "./rules.ts";

/** How a bet is priced. */
export interface PricingStrategy {
  /** The total payout if the user wins, in the unit of the bet; never below the bet. */
  payout(bet: BetTerms): bigint;
}
