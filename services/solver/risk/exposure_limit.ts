import { RangemakerError } from "../../../lib/errors.ts";
import type { Reservation } from "../../../lib/intents/intent.ts";
import type { BetTerms } from "../../../lib/protocol/terms.ts";
import { type ExposureBook, riskOf } from "./exposure_book.ts";

/** What the measure of risk may depend on. */
export type BetAtRisk = BetTerms & { payout: bigint };

/** The most that a set of bets can cost the solver, USDC with 6 decimals. */
export type RiskMeasure = (bets: Iterable<BetAtRisk>) => bigint;

/** The sum of what each bet can lose, as if the user won them all. */
export const sumOfRisks: RiskMeasure = (bets) => {
  let sum = 0n;
  for (const bet of bets) sum += riskOf(bet);
  return sum;
};

/** What an {@link ExposureLimit} works with. */
export interface ExposureLimitOptions {
  /** Bound on the measure; undefined for none. */
  max: bigint | undefined;
  /** Knows the open theses of the chain. */
  book: Pick<ExposureBook, "complete" | "theses">;
  /** Reads the bet from the payload of a reservation. */
  decode(payload: string): BetAtRisk;
  measure?: RiskMeasure;
  /** The measure came near its bound, or is far from it again. */
  onNear?(isNear: boolean, total: bigint, max: bigint): void;
}

/** In percent of the bound: near from this on, until it is below the second. */
const NEAR_PERCENT = { from: 80n, until: 70n };

/** `--max-exposure`: decides whether a bet fits beside all others of the solver. */
export class ExposureLimit {
  readonly #options: ExposureLimitOptions;
  /** Bets of reservations: decoding each once is what keeps a decision cheap. */
  readonly #bets = new WeakMap<Reservation, BetAtRisk>();
  #isNear = false;

  constructor(options: ExposureLimitOptions) {
    this.#options = options;
  }

  /**
   * Decides about a bet in the transaction that reserves it, so that all solvers on one database stay
   * within the bound together. Reservations last from before the hedge until the settlement; open
   * theses of the chain count too, since some may come from another database.
   *
   * @returns Undefined without a bound. Otherwise a decision that throws {@link RangemakerError}
   * `EXPOSURE_UNKNOWN` or `EXPOSURE_TOO_LARGE`.
   */
  admission(bet: BetAtRisk): ((held: readonly Reservation[]) => void) | undefined {
    const { max } = this.#options;
    if (max === undefined) return undefined;
    return (held) => this.#require(bet, held, max);
  }

  #require(bet: BetAtRisk, held: readonly Reservation[], max: bigint): void {
    const { book, measure = sumOfRisks } = this.#options;
    if (!book.complete) {
      throw new RangemakerError(
        "EXPOSURE_UNKNOWN",
        "Exposure is not known: the open theses could not be read from the core node yet",
        { retryable: true },
      );
    }
    const bets = new Map<string, BetAtRisk>();
    for (const thesis of book.theses) bets.set(thesis.quoteHash, thesis);
    for (const reservation of held) bets.set(reservation.key, this.#betOf(reservation));
    const total = measure([...bets.values(), bet]);
    this.#watch(total, max);
    if (total <= max) return;
    throw new RangemakerError(
      "EXPOSURE_TOO_LARGE",
      `Exposure would be ${total} with ${riskOf(bet)} more at risk, ${total - max} above ${max}`,
      { retryable: true },
    );
  }

  #watch(total: bigint, max: bigint): void {
    const percent = this.#isNear ? NEAR_PERCENT.until : NEAR_PERCENT.from;
    const isNear = total * 100n >= max * percent;
    if (isNear === this.#isNear) return;
    this.#isNear = isNear;
    this.#options.onNear?.(isNear, total, max);
  }

  #betOf(reservation: Reservation): BetAtRisk {
    const known = this.#bets.get(reservation);
    if (known !== undefined) return known;
    const bet = this.#options.decode(reservation.payload);
    this.#bets.set(reservation, bet);
    return bet;
  }
}
