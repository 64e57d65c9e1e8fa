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
  let ofUser = 0n;
  let ofSolver = 0n;
  for (const other of underWay) {
    if (other.user === bet.user) ofUser += other.betAmount;
    if (other.solver === bet.solver) ofSolver += riskOf(other);
  }
  requireUserBalance(bet, balances.user, ofUser);
  requireSolverBalance(riskOf(bet), balances.solver, ofSolver);
}

function requireUserBalance(
  { user, betAmount }: ReservedBet,
  balance: bigint,
  underWay: bigint,
): void {
  const needed = betAmount + underWay;
  if (balance >= needed) return;
  const beside = underWay === 0n ? "" : ` and ${underWay} in executions under way`;
  throw new RangemakerError(
    "INSUFFICIENT_BALANCE",
    `Balance ${balance} of user ${user} is ${needed - balance} short of the bet ${betAmount}` +
      `${beside}: deposit first; the quote stays valid until its deadline`,
    { retryable: true },
  );
}

function requireSolverBalance(risk: bigint, balance: bigint, underWay: bigint): void {
  const needed = risk + underWay;
  if (balance >= needed) return;
  throw new RangemakerError(
    "BALANCE_TOO_LOW",
    `Solver balance ${balance} is ${needed - balance} short of the ${needed} at risk in ` +
      "executions under way: bet less, or try again when they have ended",
    { retryable: true },
  );
}
