import type { Reservation, ReservationBook } from "../../../lib/intents/intent.ts";
import { type Bet, type BetAtRisk, riskOf } from "../../../lib/protocol/bet.ts";
import { worstCaseLoss } from "../../../lib/prices/worst_case_loss.ts";
import { NewestMap } from "../../../lib/newest_map.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { isUnsettled, type Thesis } from "../../../lib/protocol/thesis.ts";
import { OverlapIndex } from "./overlap_index.ts";

/**
 * With more bets at risk, the worst case is not computed for a reader: 10,000 bets take up to 18
 * ms.
 */
export const READ_BETS_MAX = 10_000;

/** Most settled theses that are remembered: those of a minute and more, at 100 bets a second. */
const SETTLED_MAX = 10_000;

/** A bet with its two sides. */
export type ReservedBet = BetAtRisk & { user: Address; solver: Address };

/** A bet and its state: reserved, open or settled. It counts unless it is settled. */
interface Entry {
  bet: ReservedBet;
  /** The database has a reservation of the bet, made by this solver or another one. */
  isReserved: boolean;
  /** The thesis as the node last reported it, if it did. */
  thesis?: Thesis | undefined;
}

/**
 * All bets that the solver can still lose, by quote hash: the reservations of all solvers on the
 * database, and the open theses of the chain. A bet counts once, from before its hedge until it
 * fails or the node reports its settlement, whatever the order of reports.
 *
 * The number of bets at risk is bounded by the balances of solver and users.
 */
export class ExposureBook implements ReservationBook {
  /** Bound on the exposure, or undefined. `ExposureLimit` enforces it. */
  readonly maxExposure: bigint | undefined;
  readonly #decode: (payload: string) => ReservedBet;
  readonly #entries = new Map<string, Entry>();
  readonly #settled = new NewestMap<string, Thesis>(SETTLED_MAX);
  readonly #index = new OverlapIndex();
  #total = 0n;
  /** Computed at the first read after a change. */
  #exposure: bigint | undefined;
  #size = 0;
  #isComplete = false;
  #reading: Reading | undefined;

  /** @param decode Reads the bet from the payload of a reservation. */
  constructor(maxExposure: bigint | undefined, decode: (payload: string) => ReservedBet) {
    this.maxExposure = maxExposure;
    this.#decode = decode;
  }

  /** The sum at risk, USDC with 6 decimals. */
  get total(): bigint {
    return this.#total;
  }

  /**
   * What can be lost: the worst case over all price paths, which `--max-exposure` limits, or the
   * sum if there are more than {@link READ_BETS_MAX} bets. USDC with 6 decimals.
   */
  get exposure(): bigint {
    if (this.#size > READ_BETS_MAX) return this.#total;
    return this.#exposure ??= worstCaseLoss(this.betsAtRisk);
  }

  /** Number of bets at risk. */
  get size(): number {
    return this.#size;
  }

  get betsAtRisk(): BetAtRisk[] {
    return [...this.#entries.values()].filter(isAtRisk).map(({ bet }) => bet);
  }

  /** Whether every open thesis is known: all were read after connecting, and followed since. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Theses that the node reported open, oldest first. */
  get openTheses(): Thesis[] {
    return [...this.#entries.values()]
      .flatMap(({ thesis }) => thesis && isUnsettled(thesis.status) ? [thesis] : [])
      .sort((a, b) => a.id - b.id);
  }

  /** The thesis of a quote as the node last reported it; of settled ones, the newest are known. */
  thesisOf(quoteHash: string): Thesis | undefined {
    return this.#entries.get(quoteHash)?.thesis ?? this.#settled.get(quoteHash);
  }

  /**
   * Risk on bets that tend to win together with a bet, USDC with 6 decimals: all bets of its
   * market, weighted by the overlap of ranges and remaining windows. See {@link OverlapIndex}.
   */
  correlatedRisk(bet: Bet, nowMs: number): number {
    return this.#index.correlatedRisk(bet, nowMs);
  }

  get reservedKeys(): string[] {
    return [...this.#entries].flatMap(([quoteHash, { isReserved }]) =>
      isReserved ? [quoteHash] : []
    );
  }

  isReserved(quoteHash: string): boolean {
    return this.#entries.get(quoteHash)?.isReserved ?? false;
  }

  /** The bets of the given quotes that have a reservation. */
  reservationsOf(quoteHashes: Iterable<string>): ReservedBet[] {
    return [...quoteHashes].flatMap((quoteHash) => {
      const entry = this.#entries.get(quoteHash);
      return entry?.isReserved ? [entry.bet] : [];
    });
  }

  addReservation({ key, payload }: Reservation): void {
    if (!this.isReserved(key)) this.reserve(key, this.#decode(payload));
  }

  /** Counts a reservation. Does nothing if it counts already. */
  reserve(quoteHash: string, bet: ReservedBet): void {
    this.#set(quoteHash, { bet, ...this.#entries.get(quoteHash), isReserved: true });
  }

  /** Removes a reservation: the bet counts only while its thesis is open. */
  release(quoteHash: string): void {
    const entry = this.#entries.get(quoteHash);
    if (entry !== undefined) this.#set(quoteHash, { ...entry, isReserved: false });
  }

  /** Applies the newest state of a thesis of the solver. */
  apply(thesis: Thesis): void {
    this.#reading?.reported.add(thesis.quoteHash);
    this.#setThesis(thesis.quoteHash, thesis);
  }

  /** Call when connected, before reading all open theses; {@link apply} may be called meanwhile. */
  beginReading(): void {
    const known = this.openTheses.map(({ quoteHash }) => quoteHash);
    this.#reading = { known, reported: new Set() };
  }

  /**
   * Applies all open theses, and any settled ones, read since {@link beginReading}; later reports
   * are newer.
   */
  endReading(theses: readonly Thesis[]): void {
    if (this.#reading === undefined) throw new TypeError("No reading was begun");
    const { known, reported } = this.#reading;
    const read = new Map<string, Thesis>(theses.map((thesis) => [thesis.quoteHash, thesis]));
    // A missing thesis settled while the feed was down, or the node lags: its reservation counts.
    for (const quoteHash of new Set([...known, ...read.keys()])) {
      if (!reported.has(quoteHash)) this.#setThesis(quoteHash, read.get(quoteHash));
    }
    this.#reading = undefined;
    this.#isComplete = true;
  }

  /** Call when disconnected: changes from now on are missed. */
  invalidate(): void {
    this.#reading = undefined;
    this.#settled.clear(); // the chain may have lost them when it is back
    this.#isComplete = false;
  }

  #setThesis(quoteHash: string, thesis: Thesis | undefined): void {
    if (thesis && !isUnsettled(thesis.status)) this.#settled.set(quoteHash, thesis);
    const entry = this.#entries.get(quoteHash);
    const bet = entry?.bet ?? thesis;
    if (bet === undefined) return;
    this.#set(quoteHash, { bet, isReserved: entry?.isReserved ?? false, thesis });
  }

  #set(quoteHash: string, entry: Entry): void {
    const earlier = this.#entries.get(quoteHash);
    if (entry.isReserved || isAtRisk(entry)) this.#entries.set(quoteHash, entry);
    else this.#entries.delete(quoteHash);
    const wasAtRisk = earlier !== undefined && isAtRisk(earlier);
    if (wasAtRisk === isAtRisk(entry)) return;
    this.#exposure = undefined;
    const risk = riskOf(entry.bet);
    this.#size += wasAtRisk ? -1 : 1;
    this.#total += wasAtRisk ? -risk : risk;
    if (wasAtRisk) this.#index.delete(quoteHash, entry.bet);
    else this.#index.add(quoteHash, entry.bet);
  }
}

interface Reading {
  /** Quotes whose theses were open when the reading began. */
  known: string[];
  /** Quotes whose theses were reported since then. */
  reported: Set<string>;
}

function isAtRisk({ isReserved, thesis }: Entry): boolean {
  return thesis === undefined ? isReserved : isUnsettled(thesis.status);
}
