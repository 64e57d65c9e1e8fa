import { RangemakerError } from "../../../lib/errors.ts";
import { type ReservedBet, riskOf } from "./bet_at_risk.ts";

/** Balances of both sides as reported by the node, USDC with 6 decimals. */
export interface Balances {
  user: bigint;
  solver: bigint;
}

/**
 * Checks that the balances cover a bet and other bets that may not have been deducted yet.
 *
 * @throws {RangemakerError} `INSUFFICIENT_BALANCE` or `BALANCE_TOO_LOW`.
 */
export function requireBalances(
  bet: ReservedBet,
  balances: Balances,
  underWay: Iterable<ReservedBet>,
): void {
  let [ofUser, ofSolver] = [0n, 0n];
  for (const other of underWay) {
    if (other.user === bet.user) ofUser += other.betAmount;
    if (other.solver === bet.solver) ofSolver += riskOf(other);
  }
  const missing = bet.betAmount + ofUser - balances.user;
  if (missing > 0n) {
    const beside = ofUser === 0n ? "" : ` and ${ofUser} in executions under way`;
    throw new RangemakerError(
      "INSUFFICIENT_BALANCE",
      `Balance ${balances.user} of user ${bet.user} is ${missing} short of the bet ` +
        `${bet.betAmount}${beside}: deposit first; the quote stays valid until its deadline`,
      { retryable: true, details: { balance: `${balances.user}`, missing: `${missing}` } },
    );
  }
  const needed = riskOf(bet) + ofSolver;
  if (balances.solver >= needed) return;
  throw new RangemakerError(
    "BALANCE_TOO_LOW",
    `Solver balance ${balances.solver} is ${needed - balances.solver} short of the ${needed} at ` +
      "risk in executions under way: bet less, or try again when they have ended",
    { retryable: true },
  );
}
