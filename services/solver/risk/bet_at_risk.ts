import type { Address } from "../../../lib/protocol/scalars.ts";
import type { BetTerms } from "../../../lib/protocol/terms.ts";

/** The input of a risk measure. */
export type BetAtRisk = BetTerms & { payout: bigint };

/** A bet with a reservation. */
export type ReservedBet = BetAtRisk & { user: Address; solver: Address };

/** The solver's possible loss (payout minus bet), USDC with 6 decimals. */
export function riskOf({ payout, betAmount }: { payout: bigint; betAmount: bigint }): bigint {
  return payout - betAmount;
}
