import { isUnsettled, type Thesis } from "../../../lib/protocol/thesis.ts";
import { RangemakerError } from "../../../lib/errors.ts";

/** Where an amount at risk stands: put aside, known to be committed, or seen on the chain. */
type Stage = "reserved" | "committed" | "open";

interface Entry {
  risk: bigint;
  stage: Stage;
  /** Present once it was seen. */
  thesis?: Thesis;
}

/** What the solver may lose (payout minus bet), USDC with 6 decimals. */
export function riskOf({ payout, betAmount }: { payout: bigint; betAmount: bigint }): bigint {
  return payout - betAmount;
}

/**
 * The sum that the solver may lose on its open theses and on those that it is about to open, and the
 * bound on it. The quote hash is the key throughout, so a thesis counts once from before its hedge
 * until its settlement, whoever tells of it first.
 *
 * It holds one entry for each open thesis of the solver, which the balances of solver and users bound.
 */
export class ExposureBook {
  readonly #max: bigint | undefined;
  readonly #entries = new Map<string, Entry>();
  #total = 0n;
  #reserved = 0n;
  #complete = false;
  #reading: Reading | undefined;

  /** @param max The most that all of it together may reach; undefined for no bound. */
  constructor(max: bigint | undefined) {
    this.#max = max;
  }

  /** Bound on {@link total}, or undefined. */
  get max(): bigint | undefined {
    return this.#max;
  }

  /** The sum at risk, reservations included. */
  get total(): bigint {
    return this.#total;
  }

  /** The part of {@link total} that no transaction has taken from the balance yet. */
  get reserved(): bigint {
    return this.#reserved;
  }

  /** Whether every open thesis is known: read since the connection was made, and followed since. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Quotes with a risk that was put aside, and of which no more is known. */
  get reservedQuotes(): string[] {
    return [...this.#entries].flatMap(([quoteHash, { stage }]) =>
      stage === "reserved" ? [quoteHash] : []
    );
  }

  /** Theses seen open, oldest first. */
  get theses(): Thesis[] {
    return [...this.#entries.values()]
      .flatMap(({ thesis }) => thesis === undefined ? [] : [thesis])
      .sort((a, b) => a.id - b.id);
  }

  /**
   * Puts a risk aside, unless that was done before for the same quote.
   *
   * @throws {RangemakerError} `EXPOSURE_UNKNOWN` or `EXPOSURE_TOO_LARGE`, where there is a bound and
   * the exposure is not known or would pass it. Nothing is put aside then.
   */
  reserve(quoteHash: string, risk: bigint): void {
    if (this.#entries.has(quoteHash)) return;
    this.#requireRoom(risk);
    this.hold(quoteHash, risk);
  }

  /** Puts a risk aside whatever the bound: for what an earlier run may have submitted already. */
  hold(quoteHash: string, risk: bigint): void {
    if (!this.#entries.has(quoteHash)) this.#set(quoteHash, { risk, stage: "reserved" });
  }

  /** Gives back what was put aside; a thesis that is known to exist stays. */
  release(quoteHash: string): void {
    if (this.#entries.get(quoteHash)?.stage === "reserved") this.#delete(quoteHash);
  }

  /** Notes that the thesis of a quote was committed. One that was seen to settle since stays gone. */
  committed(quoteHash: string): void {
    const entry = this.#entries.get(quoteHash);
    if (entry?.stage === "reserved") this.#set(quoteHash, { ...entry, stage: "committed" });
  }

  /** Takes the newest state of a thesis of the solver. */
  apply(thesis: Thesis): void {
    this.#reading?.seen.add(thesis.quoteHash);
    this.#take(thesis);
  }

  /** The connection stands, and all open theses are about to be read; news may come meanwhile. */
  beginReading(): void {
    const known = [...this.#entries].filter(([, { stage }]) => stage !== "reserved");
    this.#reading = { known: known.map(([quoteHash]) => quoteHash), seen: new Set() };
  }

  /** All open theses were read since {@link beginReading}. What was told meanwhile is newer. */
  endReading(theses: readonly Thesis[]): void {
    if (this.#reading === undefined) throw new TypeError("No reading was begun");
    const { known, seen } = this.#reading;
    const read = new Set<string>(theses.map(({ quoteHash }) => quoteHash));
    for (const thesis of theses) if (!seen.has(thesis.quoteHash)) this.#take(thesis);
    // Known to exist before, and open no more: it settled while nobody told.
    for (const quoteHash of known) {
      if (!read.has(quoteHash) && !seen.has(quoteHash)) this.#delete(quoteHash);
    }
    this.#reading = undefined;
    this.#complete = true;
  }

  /** The connection is gone: what happens from now on is not told. */
  invalidate(): void {
    this.#reading = undefined;
    this.#complete = false;
  }

  #requireRoom(risk: bigint): void {
    if (this.#max === undefined) return;
    if (!this.#complete) {
      throw new RangemakerError(
        "EXPOSURE_UNKNOWN",
        "Exposure is not known: the open theses could not be read from the core node yet",
        { retryable: true },
      );
    }
    const total = this.#total + risk;
    if (total <= this.#max) return;
    throw new RangemakerError(
      "EXPOSURE_TOO_LARGE",
      `Exposure would be ${total} with ${risk} more at risk, ${
        total - this.#max
      } above ${this.#max}`,
      { retryable: true },
    );
  }

  #take(thesis: Thesis): void {
    if (!isUnsettled(thesis.status)) return this.#delete(thesis.quoteHash);
    this.#set(thesis.quoteHash, { risk: riskOf(thesis), stage: "open", thesis });
  }

  #set(quoteHash: string, entry: Entry): void {
    this.#delete(quoteHash);
    this.#entries.set(quoteHash, entry);
    this.#total += entry.risk;
    if (entry.stage === "reserved") this.#reserved += entry.risk;
  }

  #delete(quoteHash: string): void {
    const entry = this.#entries.get(quoteHash);
    if (entry === undefined) return;
    this.#entries.delete(quoteHash);
    this.#total -= entry.risk;
    if (entry.stage === "reserved") this.#reserved -= entry.risk;
  }
}

interface Reading {
  /** Quotes whose theses were known to exist when it began. */
  known: string[];
  /** Quotes whose theses were told of since. */
  seen: Set<string>;
}
