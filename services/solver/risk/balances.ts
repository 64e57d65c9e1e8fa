import { riskOf } from "../../../lib/protocol/bet.ts";
import { solverError } from "../shared/errors.ts";
import type { ReservedBet } from "./exposure_book.ts";

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
  inFlight: Iterable<ReservedBet>,
): void {
  let [ofUser, ofSolver] = [0n, 0n];
  for (const other of inFlight) {
    if (other.user === bet.user) ofUser += other.betAmount;
    if (other.solver === bet.solver) ofSolver += riskOf(other);
  }
  const { user, betAmount } = bet;
  const missing = betAmount + ofUser - balances.user;
  if (missing > 0n) {
    const facts = { user, balance: balances.user, betAmount, reserved: ofUser, missing };
    throw solverError("INSUFFICIENT_BALANCE", facts);
  }
  const needed = riskOf(bet) + ofSolver;
  if (balances.solver >= needed) return;
  const facts = { balance: balances.solver, needed, missing: needed - balances.solver };
  throw solverError("BALANCE_TOO_LOW", facts);
}
