import type { Address } from "../../../lib/protocol/scalars.ts";
import type { BetTerms } from "../../../lib/protocol/terms.ts";

/** What a measure of risk may depend on. */
export type BetAtRisk = BetTerms & { payout: bigint };

/** A bet with a reservation. Those of earlier versions do not name their solver. */
export type ReservedBet = BetAtRisk & { user: Address; solver?: Address };

/** What the solver may lose (payout minus bet), USDC with 6 decimals. */
export function riskOf({ payout, betAmount }: { payout: bigint; betAmount: bigint }): bigint {
  return payout - betAmount;
}
