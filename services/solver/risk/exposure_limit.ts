import { RangemakerError } from "../../../lib/errors.ts";
import type { Admission } from "../../../lib/intents/intent.ts";
import { type BetAtRisk, type ExposureBook, riskOf } from "./exposure_book.ts";

/**
 * The most that a set of bets can cost the solver, USDC with 6 decimals: never more than the sum of what
 * each can lose.
 */
export type RiskMeasure = (bets: Iterable<BetAtRisk>) => bigint;

/** What an {@link ExposureLimit} works with. */
export interface ExposureLimitOptions {
  /** Bound on the measure; undefined for none. */
  max: bigint | undefined;
  /** Counts the open theses of the chain, and the reservations of all solvers on the database. */
  book: Pick<ExposureBook, "complete" | "atRisk" | "betsAtRisk" | "hold" | "free">;
  /** Reads the bet from the payload of a reservation. */
  decode(payload: string): BetAtRisk;
  /** Absent: the sum of what each bet can lose, as if the users won them all. */
  measure?: RiskMeasure;
  /** The measure came near its bound, or is far from it again. */
  onNear?(isNear: boolean, total: bigint, max: bigint): void;
}

/** In percent of the bound: near from the first on, and far again below the second. */
const NEAR_PERCENT = { from: 80n, until: 70n };

/** `--max-exposure`: decides whether a bet fits beside all others of the solver. */
export class ExposureLimit {
  readonly #options: ExposureLimitOptions;
  #isNear = false;

  constructor(options: ExposureLimitOptions) {
    this.#options = options;
  }

  /**
   * Decides about a bet in the transaction that reserves it, so that all solvers on one database stay
   * within the bound together. Reservations last from before the hedge until the settlement; open
   * theses of the chain count too, since some may come from another database.
   *
   * @returns Undefined without a bound. Otherwise one that refuses with {@link RangemakerError}
   * `EXPOSURE_UNKNOWN` or `EXPOSURE_TOO_LARGE`.
   */
  admission(quoteHash: string, bet: BetAtRisk): Admission | undefined {
    const { max, book, decode } = this.#options;
    if (max === undefined) return undefined;
    return {
      decide: () => {
        this.#require(bet, max);
        book.hold(quoteHash, bet);
      },
      hold: ({ key, payload }) => book.hold(key, decode(payload)),
      free: (key) => book.free(key),
    };
  }

  #require(bet: BetAtRisk, max: bigint): void {
    const { book } = this.#options;
    if (!book.complete) {
      throw new RangemakerError(
        "EXPOSURE_UNKNOWN",
        "Exposure is not known: the open theses could not be read from the core node yet",
        { retryable: true },
      );
    }
    const total = this.#measureWith(bet, max);
    this.#watch(total, max);
    if (total <= max) return;
    throw new RangemakerError(
      "EXPOSURE_TOO_LARGE",
      `Exposure would be ${total} with ${riskOf(bet)} more at risk, ${total - max} above ${max}`,
      { retryable: true },
    );
  }

  #measureWith(bet: BetAtRisk, max: bigint): bigint {
    const { book, measure } = this.#options;
    // The book keeps the sum, so far from the bound a decision looks at no other bet.
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
