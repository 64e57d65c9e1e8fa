import type { BetTerms } from "../../../lib/protocol/terms.ts";
import { isUnsettled, type Thesis } from "../../../lib/protocol/thesis.ts";
import { type BetAtRisk, type ReservedBet, riskOf } from "./bet_at_risk.ts";
import { OverlapIndex } from "./overlap_index.ts";

/** Progress of a bet: reserved by an execution, committed by the node, or reported open by it. */
type Stage = "reserved" | "committed" | "open";

interface Entry {
  stage: Stage;
  bet: BetAtRisk;
  /** Set once the node reported it. */
  thesis?: Thesis;
}

/**
 * The bets of the solver known to this process: executions under way, and open theses of the
 * chain. The quote hash is the key throughout, so a bet counts once from before its hedge until its
 * settlement, in any order of the reports.
 *
 * The number of entries is bounded by the balances of solver and users.
 */
export class ExposureBook {
  readonly #max: bigint | undefined;
  readonly #entries = new Map<string, Entry>();
  /** Bets with a reservation in the database, by any solver. */
  readonly #held = new Map<string, ReservedBet>();
  /** All bets, each once. */
  readonly #index = new OverlapIndex();
  #atRisk = 0n;
  #total = 0n;
  #complete = false;
  #reading: Reading | undefined;

  /** @param max The bound that `GET /theses` shows; {@link ExposureLimit} enforces it. */
  constructor(max: bigint | undefined) {
    this.#max = max;
  }

  /** Bound on the exposure, or undefined. */
  get max(): bigint | undefined {
    return this.#max;
  }

  /** The sum at risk, reservations included. */
  get total(): bigint {
    return this.#total;
  }

  /**
   * The sum at risk on the reservations of all solvers on the database and on open theses, each bet
   * once: what {@link ExposureLimit} bounds.
   */
  get atRisk(): bigint {
    return this.#atRisk;
  }

  /** The bets of {@link atRisk}. */
  get betsAtRisk(): BetAtRisk[] {
    const bets: BetAtRisk[] = [...this.#held.values()];
    for (const [quoteHash, { thesis }] of this.#entries) {
      if (thesis !== undefined && !this.#held.has(quoteHash)) bets.push(thesis);
    }
    return bets;
  }

  /** The bets that have a reservation among those of some quotes. */
  reservationsOf(quoteHashes: Iterable<string>): ReservedBet[] {
    const bets: ReservedBet[] = [];
    for (const quoteHash of quoteHashes) {
      const bet = this.#held.get(quoteHash);
      if (bet !== undefined) bets.push(bet);
    }
    return bets;
  }

  /**
   * Risk on bets that tend to win together with a bet, USDC with 6 decimals: those of its market,
   * weighted by the overlap of ranges and remaining windows. See {@link OverlapIndex}.
   */
  riskBeside(bet: BetTerms, nowMs: number): number {
    return this.#index.riskBeside(bet, nowMs);
  }

  /** Whether every open thesis is known: read since the connection was made, and followed since. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Quotes that are reserved and neither committed nor reported open. */
  get reservedQuotes(): string[] {
    return [...this.#entries].flatMap(([quoteHash, { stage }]) =>
      stage === "reserved" ? [quoteHash] : []
    );
  }

  /** Theses that the node reported open, oldest first. */
  get theses(): Thesis[] {
    return [...this.#entries.values()]
      .flatMap(({ thesis }) => thesis === undefined ? [] : [thesis])
      .sort((a, b) => a.id - b.id);
  }

  /** Whether the node reported the thesis of a quote as open. */
  isOpen(quoteHash: string): boolean {
    return this.#entries.get(quoteHash)?.stage === "open";
  }

  /** Counts a reservation of the database in {@link atRisk}. Does nothing if it already counts. */
  addReservation(quoteHash: string, bet: ReservedBet): void {
    if (this.#held.has(quoteHash)) return;
    this.#held.set(quoteHash, bet);
    this.#index.add(quoteHash, bet);
    if (!this.isOpen(quoteHash)) this.#atRisk += riskOf(bet);
  }

  /** The database no longer has the reservation. */
  removeReservation(quoteHash: string): void {
    const bet = this.#held.get(quoteHash);
    if (bet === undefined) return;
    this.#held.delete(quoteHash);
    if (!this.#entries.has(quoteHash)) this.#index.delete(quoteHash);
    if (!this.isOpen(quoteHash)) this.#atRisk -= riskOf(bet);
  }

  /** Reserves a bet. Does nothing if the quote is known already. */
  reserve(quoteHash: string, bet: BetAtRisk): void {
    if (this.#entries.has(quoteHash)) return;
    this.#set(quoteHash, { bet, stage: "reserved" });
  }

  /** Releases a reservation; a thesis that is known to exist stays. */
  release(quoteHash: string): void {
    if (this.#entries.get(quoteHash)?.stage === "reserved") this.#delete(quoteHash);
  }

  /** Records that the thesis of a quote was committed. If it has settled since, it stays deleted. */
  committed(quoteHash: string): void {
    const entry = this.#entries.get(quoteHash);
    if (entry?.stage === "reserved") this.#set(quoteHash, { ...entry, stage: "committed" });
  }

  /** Applies the newest state of a thesis of the solver. */
  apply(thesis: Thesis): void {
    this.#reading?.reported.add(thesis.quoteHash);
    this.#take(thesis);
  }

  /** Connected: all open theses are about to be read, and {@link apply} may be called meanwhile. */
  beginReading(): void {
    const known = [...this.#entries].filter(([, { stage }]) => stage !== "reserved");
    this.#reading = { known: known.map(([quoteHash]) => quoteHash), reported: new Set() };
  }

  /** All open theses were read since {@link beginReading}. Reports received meanwhile are newer. */
  endReading(theses: readonly Thesis[]): void {
    if (this.#reading === undefined) throw new TypeError("No reading was begun");
    const { known, reported } = this.#reading;
    const read = new Set<string>(theses.map(({ quoteHash }) => quoteHash));
    for (const thesis of theses) if (!reported.has(thesis.quoteHash)) this.#take(thesis);
    // It existed before and is no longer open: it settled while the feed was down.
    for (const quoteHash of known) {
      if (!read.has(quoteHash) && !reported.has(quoteHash)) this.#delete(quoteHash);
    }
    this.#reading = undefined;
    this.#complete = true;
  }

  /** Disconnected: changes from now on are missed. */
  invalidate(): void {
    this.#reading = undefined;
    this.#complete = false;
  }

  #take(thesis: Thesis): void {
    if (!isUnsettled(thesis.status)) return this.#delete(thesis.quoteHash);
    this.#set(thesis.quoteHash, { bet: thesis, stage: "open", thesis });
  }

  #set(quoteHash: string, entry: Entry): void {
    const earlier = this.#entries.get(quoteHash);
    if (earlier !== undefined) this.#add(quoteHash, earlier, -1n);
    this.#entries.set(quoteHash, entry);
    this.#index.add(quoteHash, entry.bet);
    this.#add(quoteHash, entry, 1n);
  }

  #delete(quoteHash: string): void {
    const entry = this.#entries.get(quoteHash);
    if (entry === undefined) return;
    this.#entries.delete(quoteHash);
    if (!this.#held.has(quoteHash)) this.#index.delete(quoteHash);
    this.#add(quoteHash, entry, -1n);
  }

  #add(quoteHash: string, { stage, bet }: Entry, sign: 1n | -1n): void {
    const risk = sign * riskOf(bet);
    this.#total += risk;
    if (stage === "open" && !this.#held.has(quoteHash)) this.#atRisk += risk;
  }
}

interface Reading {
  /** Quotes whose theses were known to exist when it began. */
  known: string[];
  /** Quotes whose theses were reported since. */
  reported: Set<string>;
}
