import TinyQueue from "tinyqueue";
import {
  joinSpans,
  overlap,
  type PricePoint,
  type PriceReader,
  type TimeSpan,
} from "../../../lib/prices/price_slots.ts";
import type { Box } from "../../../lib/protocol/bet.ts";
import type { MarketPair } from "../../../lib/protocol/markets.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import type { StoredThesis } from "../store/schema.ts";

/**
 * Most missing spans that one attempt reports. The last span joins all further ones, and the next
 * attempt reads the prices between them again.
 */
const MISSING_SPANS_MAX = 256;

/** Result of a settlement attempt; `won` means that the user won. */
export type Outcome =
  | { status: "won" }
  | { status: "lost"; breach: PricePoint }
  | { status: "needs_backfill"; missing: TimeSpan[] };

/** Whether an outcome is final: a loss at once; a win or missing prices at the thesis's end. */
export function isFinalAt(outcome: Outcome, { endTime }: Pick<Thesis, "endTime">, timeMs: number) {
  return outcome.status === "lost" || endTime <= timeMs;
}

/**
 * Decides a box thesis by the known prices. If one recorded price is outside the range, the solver
 * wins, even if others are missing. The user wins only if every slot of the window has a price.
 *
 * @param undecided The spans to check: the whole window, or those that had no price at an earlier
 *   attempt. Recorded prices never change, so other spans are not checked again.
 */
export function decideOutcome(
  prices: PriceReader,
  box: Box,
  undecided: readonly TimeSpan[] = undecidedSpansOf(box),
): Outcome {
  const range = { lower: box.lowerPrice, upper: box.upperPrice };
  const missing: TimeSpan[] = [];
  for (const span of undecided) {
    const found = prices.checkRange(span.from, span.to, range);
    if (found.outside !== undefined) return { status: "lost", breach: found.outside };
    // One by one: no call takes hundreds of thousands of arguments.
    for (const gap of found.missing) missing.push(gap);
  }
  if (missing.length === 0) return { status: "won" };
  return { status: "needs_backfill", missing: joinTail(missing) };
}

/** The spans to check: those that had no price at the last attempt, or the whole window. */
function undecidedSpansOf(
  box: Pick<Box, "startTime" | "endTime">,
  missing?: TimeSpan[],
): TimeSpan[] {
  return missing ?? [{ from: box.startTime, to: box.endTime }];
}

function joinTail(spans: TimeSpan[]): TimeSpan[] {
  if (spans.length <= MISSING_SPANS_MAX) return spans;
  const head = spans.slice(0, MISSING_SPANS_MAX - 1);
  const tail = spans.slice(MISSING_SPANS_MAX - 1);
  return [...head, { from: tail[0]!.from, to: tail.at(-1)!.to }]; // the tail has at least two spans
}

/**
 * Ids by due time, Unix milliseconds. Ids with the same time share one entry of the queue: a heap of
 * all ids would take thirty times as long for 100,000 theses that end together.
 */
export class Schedule {
  /** Ids before index `next` have been removed. */
  readonly #dueByTime = new Map<number, { ids: number[]; next: number }>();
  /** The times that have ids. */
  readonly #times = new TinyQueue<number>();

  add(timeMs: number, id: number): void {
    const due = this.#dueByTime.get(timeMs);
    if (due !== undefined) due.ids.push(id);
    else {
      this.#dueByTime.set(timeMs, { ids: [id], next: 0 });
      this.#times.push(timeMs);
    }
  }

  isDue(nowMs: number): boolean {
    return (this.#times.peek() ?? Infinity) <= nowMs;
  }

  /** Removes and returns the ids that are due: the earliest first, at most `max`. */
  removeDue(nowMs: number, max: number): number[] {
    const removed: number[] = [];
    while (this.isDue(nowMs) && removed.length < max) {
      const time = this.#times.peek()!; // one is due
      const due = this.#dueByTime.get(time)!; // each time has some
      const ids = due.ids.slice(due.next, due.next + max - removed.length);
      removed.push(...ids);
      due.next += ids.length;
      if (due.next < due.ids.length) continue;
      this.#dueByTime.delete(time);
      this.#times.pop();
    }
    return removed;
  }
}

/** Schedules settlement attempts: at the end of a thesis, or when a price breaks its range. */
export class SettlementSchedule {
  readonly #unsettled: ReadonlyMap<number, StoredThesis>;
  readonly #attempts = new Schedule();

  /** @param unsettled The unsettled theses by id, kept up to date by the ledger. */
  constructor(unsettled: ReadonlyMap<number, StoredThesis>) {
    this.#unsettled = unsettled;
  }

  get unsettledCount(): number {
    return this.#unsettled.size;
  }

  /** Number of theses that have ended and lack prices. */
  get withoutPricesCount(): number {
    return this.#unsettled.values().filter(({ missing }) => missing !== undefined).toArray().length;
  }

  /** Schedules the attempt at the end of an unsettled thesis. */
  add({ id, endTime }: Thesis): void {
    this.#attempts.add(endTime, id);
  }

  /** Whether an outcome differs from that of the last attempt. */
  isNewOutcome({ id }: Thesis, outcome: Outcome): boolean {
    const known = this.#unsettled.get(id)?.missing;
    return outcome.status !== "needs_backfill" ||
      JSON.stringify(known) !== JSON.stringify(outcome.missing);
  }

  /** Makes a thesis due at the next checkpoint. */
  makeDue(id: number): void {
    this.#attempts.add(0, id);
  }

  /** Makes the theses due that need prices of this market in this span. */
  makeDueWhere({ base, quote }: MarketPair, span: TimeSpan): void {
    for (const [id, { thesis, missing }] of this.#unsettled) {
      const needsPrices = thesis.base === base && thesis.quote === quote &&
        undecidedSpansOf(thesis, missing).some((gap) => overlap(gap, span));
      if (needsPrices) this.makeDue(id);
    }
  }

  isDue(nowMs: number): boolean {
    return this.#attempts.isDue(nowMs);
  }

  /** Removes and returns theses whose attempt is due, at most `max`. */
  removeDue(nowMs: number, max: number): Thesis[] {
    const ids = new Set(this.#attempts.removeDue(nowMs, max));
    return [...ids].flatMap((id) => this.#unsettled.get(id)?.thesis ?? []);
  }

  /** The windows of all unsettled theses of a market, joined and in order. */
  neededSpans(pair: MarketPair): TimeSpan[] {
    return this.#joinedSpans(pair, (thesis) => undecidedSpansOf(thesis));
  }

  /** The parts of these windows that no attempt has found inside the range yet. */
  undecidedSpans(pair: MarketPair): TimeSpan[] {
    return this.#joinedSpans(pair, undecidedSpansOf);
  }

  #joinedSpans({ base, quote }: MarketPair, spansOf: typeof undecidedSpansOf): TimeSpan[] {
    // Theses have most missing spans in common: millions of them would take seconds to sort.
    const endsByStart = new Map<number, number>();
    for (const { thesis, missing } of this.#unsettled.values()) {
      if (thesis.base !== base || thesis.quote !== quote) continue;
      for (const { from, to } of spansOf(thesis, missing)) {
        if (to > (endsByStart.get(from) ?? 0)) endsByStart.set(from, to);
      }
    }
    return joinSpans(Array.from(endsByStart, ([from, to]) => ({ from, to })));
  }
}
