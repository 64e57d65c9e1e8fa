import type { BetTerms } from "../../../lib/protocol/terms.ts";

/** What a measure of risk may depend on. */
export type BetAtRisk = BetTerms & { payout: bigint };

/** What the solver may lose (payout minus bet), USDC with 6 decimals. */
export function riskOf({ payout, betAmount }: { payout: bigint; betAmount: bigint }): bigint {
  return payout - betAmount;
}
