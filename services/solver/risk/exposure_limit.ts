import { type BetAtRisk, riskOf } from "../../../lib/protocol/bet.ts";
import { worstCaseLoss } from "../../../lib/prices/worst_case_loss.ts";
import type { Admission, InFlight } from "../../../lib/intents/intent.ts";
import { solverError } from "../shared/errors.ts";
import { solverLog } from "../shared/solver_log.ts";
import type { ExposureBook, ReservedBet } from "./exposure_book.ts";

/** When the warning is raised, and below what it is cleared, in percent of the limit. */
const WARNING_PERCENT = { raiseAt: 80n, clearBelow: 70n };

/**
 * With more bets at risk, an estimate is not compared with the limit: that would cost milliseconds,
 * and anybody may ask.
 */
const ESTIMATE_BETS_MAX = 1_000;

/** What was known before the transaction that decides about a bet. */
export interface AdmissionFacts {
  balances: Balances;
  /** The intents under way before the node was asked for the balances. */
  inFlightBefore: InFlight;
  /** Checks the price beside all bets so far. Throws if the payout is no longer acceptable. */
  requirePrice(): void;
}

/** Balances and `--max-exposure`: decides whether a bet fits beside all others of the solver. */
export class ExposureLimit {
  readonly book: ExposureBook;
  #isNear = false;

  constructor(book: ExposureBook) {
    this.book = book;
  }

  /**
   * Decides about a bet in the transaction that reserves it, so that all solvers on one database
   * stay within balances and bound together. Open theses of the chain count in the bound too, since
   * some may come from another database.
   *
   * The decision throws a RangemakerError: `INSUFFICIENT_BALANCE`, `BALANCE_TOO_LOW`, a refusal of
   * the price, and with a bound `EXPOSURE_UNKNOWN` or `EXPOSURE_TOO_LARGE`.
   */
  createAdmission(
    quoteHash: string,
    bet: ReservedBet,
    { balances, inFlightBefore, requirePrice }: AdmissionFacts,
  ): Admission {
    const book = this.book;
    return {
      inFlightBefore,
      decide: (inFlight) => {
        requireBalances(bet, balances, book.reservationsOf(inFlight));
        // Last but one: its refusal is recorded, and callers without money must not be able to fill
        // the database.
        requirePrice();
        if (book.maxExposure !== undefined) this.#requireWithinLimit(bet, book.maxExposure);
        book.reserve(quoteHash, bet);
      },
    };
  }

  /**
   * Refuses an estimate of a bet that would be refused now, so that its user need not sign first.
   * It reserves nothing, so only the admission decides.
   *
   * @throws {RangemakerError} `EXPOSURE_TOO_LARGE`.
   */
  requireEstimateFits(bet: BetAtRisk): void {
    const book = this.book;
    const isComparable = book.isComplete && book.size <= ESTIMATE_BETS_MAX;
    if (book.maxExposure !== undefined && isComparable) {
      this.#requireWithinLimit(bet, book.maxExposure);
    }
  }

  /**
   * Logs if the exposure came near the limit, or dropped well below it again, since the last
   * call. Call it when the book has just read the reservations: other solvers release some too.
   */
  report(): void {
    const max = this.book.maxExposure;
    if (max === undefined) return;
    const total = this.#totalWith([], max);
    const percent = this.#isNear ? WARNING_PERCENT.clearBelow : WARNING_PERCENT.raiseAt;
    const isNear = total * 100n >= max * percent;
    if (isNear !== this.#isNear) solverLog.exposureChanged(isNear, total, max);
    this.#isNear = isNear;
  }

  #requireWithinLimit(bet: BetAtRisk, max: bigint): void {
    if (!this.book.isComplete) throw solverError("EXPOSURE_UNKNOWN");
    const total = this.#totalWith([bet], max);
    if (total <= max) return;
    throw solverError("EXPOSURE_TOO_LARGE", {
      exposure: total,
      maxExposure: max,
      risk: riskOf(bet),
    });
  }

  #totalWith(bets: readonly BetAtRisk[], max: bigint): bigint {
    const book = this.book;
    // Well below the limit the cached sum is enough: computing the exact loss reads every bet.
    const sum = bets.reduce((total, bet) => total + riskOf(bet), book.total);
    const isFar = sum * 100n < max * WARNING_PERCENT.clearBelow;
    return isFar ? sum : worstCaseLoss([...book.betsAtRisk, ...bets]);
  }
}

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
  let [reservedByUser, reservedBySolver] = [0n, 0n];
  for (const other of inFlight) {
    if (other.user === bet.user) reservedByUser += other.betAmount;
    if (other.solver === bet.solver) reservedBySolver += riskOf(other);
  }
  const { user, betAmount } = bet;
  const missing = betAmount + reservedByUser - balances.user;
  if (missing > 0n) {
    const facts = { user, balance: balances.user, betAmount, reserved: reservedByUser, missing };
    throw solverError("INSUFFICIENT_BALANCE", facts);
  }
  const needed = riskOf(bet) + reservedBySolver;
  if (balances.solver >= needed) return;
  const facts = { balance: balances.solver, needed, missing: needed - balances.solver };
  throw solverError("BALANCE_TOO_LOW", facts);
}
