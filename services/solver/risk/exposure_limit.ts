import { RangemakerError } from "../../../lib/errors.ts";
import type { Admission, UnderWay } from "../../../lib/intents/intent.ts";
import { type Balances, requireBalances } from "./balances.ts";
import { type BetAtRisk, type ReservedBet, riskOf } from "./bet_at_risk.ts";
import type { ExposureBook } from "./exposure_book.ts";

/**
 * Calculates the maximum loss on a set of bets, in USDC with 6 decimals: at most the sum of their
 * individual losses.
 */
export type RiskMeasure = (bets: Iterable<BetAtRisk>) => bigint;

/** Options of an {@link ExposureLimit}. */
export interface ExposureLimitOptions {
  /** Bound on the measure; undefined for none. */
  max: bigint | undefined;
  /** Counts the open theses of the chain, and the reservations of all solvers on the database. */
  book: Pick<
    ExposureBook,
    | "complete"
    | "atRisk"
    | "betsAtRisk"
    | "reservationsOf"
    | "addReservation"
    | "removeReservation"
  >;
  /** Reads the bet from the payload of a reservation. */
  decode(payload: string): ReservedBet;
  /** Maximum loss on a set of bets; by default the sum, as if users won every bet. */
  measure?: RiskMeasure;
  /** Called when exposure comes near the limit (true) or drops well below it again (false). */
  onNear?(isNear: boolean, total: bigint, max: bigint): void;
}

/** Warning hysteresis in percent of the limit: warn at `from`, clear below `until`. */
const NEAR_PERCENT = { from: 80n, until: 70n };

/** Balances of both sides, and the intents under way before the node was asked. */
export interface Funds {
  balances: Balances;
  before: UnderWay;
}

/** Balances and `--max-exposure`: decides whether a bet fits beside all others of the solver. */
export class ExposureLimit {
  readonly #options: ExposureLimitOptions;
  #isNear = false;

  constructor(options: ExposureLimitOptions) {
    this.#options = options;
  }

  /**
   * Decides about a bet in the transaction that reserves it, so that all solvers on one database stay
   * within balances and bound together. Reservations last from before the hedge until the settlement;
   * open theses of the chain count in the bound too, since some may come from another database.
   *
   * The decision throws {@link RangemakerError} `INSUFFICIENT_BALANCE`, `BALANCE_TOO_LOW`, and with a
   * bound `EXPOSURE_UNKNOWN` or `EXPOSURE_TOO_LARGE`.
   */
  admission(quoteHash: string, bet: ReservedBet, { balances, before }: Funds): Admission {
    const { max, book, decode } = this.#options;
    return {
      before,
      decide: (underWay) => {
        requireBalances(bet, balances, book.reservationsOf(underWay));
        if (max !== undefined) this.#require(bet, max);
        book.addReservation(quoteHash, bet);
      },
      reserve: ({ key, payload }) => book.addReservation(key, decode(payload)),
      release: (key) => book.removeReservation(key),
    };
  }

  #require(bet: BetAtRisk, max: bigint): void {
    const { book } = this.#options;
    if (!book.complete) {
      throw new RangemakerError(
        "EXPOSURE_UNKNOWN",
        "Exposure is unknown: the open theses have not been loaded from the core node yet; retry",
        { retryable: true },
      );
    }
    const total = this.#measureWith(bet, max);
    this.#watch(total, max);
    if (total <= max) return;
    throw new RangemakerError(
      "EXPOSURE_TOO_LARGE",
      `Exposure would be ${total}, above --max-exposure ${max}: this bet adds ${riskOf(bet)}; ` +
        "bet less, or wait for settlements",
      { retryable: true },
    );
  }

  #measureWith(bet: BetAtRisk, max: bigint): bigint {
    const { book, measure } = this.#options;
    // Well below the limit the cached sum is enough; computing the exact loss reads every bet.
    const sum = book.atRisk + riskOf(bet);
    const isFar = sum * 100n < max * NEAR_PERCENT.until;
    return measure === undefined || isFar ? sum : measure([...book.betsAtRisk, bet]);
  }

  #watch(total: bigint, max: bigint): void {
    const percent = this.#isNear ? NEAR_PERCENT.until : NEAR_PERCENT.from;
    const isNear = total * 100n >= max * percent;
    if (isNear === this.#isNear) return;
    this.#isNear = isNear;
    this.#options.onNear?.(isNear, total, max);
  }
}
