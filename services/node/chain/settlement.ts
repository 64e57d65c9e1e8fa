import TinyQueue from "tinyqueue";
import type { PricePoint, PriceReader, TimeSpan } from "../../../lib/prices/price_slots.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";

/**
 * Spans that an attempt names as missing at most. Where there are more, the later ones are joined
 * into one, and the prices between them are looked up once more at the next attempt.
 */
export const MISSING_SPANS_MAX = 256;

/** What an attempt to settle a thesis gives; `won` is by the user. */
export type Outcome =
  | { status: "won" }
  | { status: "lost"; breach: PricePoint }
  | { status: "needs_backfill"; missing: TimeSpan[] };

/** The part of a thesis that decides it. */
export type Box = Pick<Thesis, "lowerPrice" | "upperPrice" | "startTime" | "endTime">;

/**
 * Settles a box thesis by the prices known: one recorded price outside the box decides for the
 * solver, however much is missing; the user wins only if every slot of the window is known.
 *
 * @param unknown The spans still to be judged: the whole window, or what an earlier attempt found
 * missing. What it found inside the box needs no second look, for recorded prices never change.
 */
export function settle(
  prices: PriceReader,
  box: Box,
  unknown: readonly TimeSpan[] = [{ from: box.startTime, to: box.endTime }],
): Outcome {
  const range = { lower: box.lowerPrice, upper: box.upperPrice };
  const missing: TimeSpan[] = [];
  for (const span of unknown) {
    const found = prices.checkRange(span.from, span.to, range);
    if (found.outside !== undefined) return { status: "lost", breach: found.outside };
    missing.push(...found.missing);
  }
  if (missing.length === 0) return { status: "won" };
  return { status: "needs_backfill", missing: joinTail(missing) };
}

function joinTail(spans: TimeSpan[]): TimeSpan[] {
  if (spans.length <= MISSING_SPANS_MAX) return spans;
  const head = spans.slice(0, MISSING_SPANS_MAX - 1);
  const tail = spans.slice(MISSING_SPANS_MAX - 1);
  return [...head, { from: tail[0]!.from, to: tail.at(-1)!.to }]; // the tail has two or more
}

interface Attempt {
  /** When to try, Unix milliseconds. */
  dueMs: number;
  id: number;
}

interface Unsettled {
  thesis: Thesis;
  /** What the last attempt lacked; undefined before the first. */
  missing?: TimeSpan[];
}

/**
 * Knows which theses are unsettled, when each is to be tried, and what the last attempt lacked. A
 * thesis costs nothing between its opening and its end.
 */
export class Settler {
  readonly #unsettled = new Map<number, Unsettled>();
  readonly #attempts = new TinyQueue<Attempt>([], (a, b) => a.dueMs - b.dueMs || a.id - b.id);

  /** Theses that are not settled. */
  get unsettledCount(): number {
    return this.#unsettled.size;
  }

  /** Takes an unsettled thesis in. */
  add(thesis: Thesis): void {
    this.#unsettled.set(thesis.id, { thesis });
    this.#attempts.push({ dueMs: thesis.endTime, id: thesis.id });
  }

  /** Takes note of what became of a thesis. */
  record(thesis: Thesis, outcome: Outcome): void {
    if (outcome.status === "needs_backfill") {
      this.#unsettled.set(thesis.id, { thesis, missing: outcome.missing });
    } else this.#unsettled.delete(thesis.id);
  }

  /** What an attempt on the thesis gives with the prices known now. */
  attempt(thesis: Thesis, prices: PriceReader): Outcome {
    return settle(prices, thesis, this.#unsettled.get(thesis.id)?.missing);
  }

  /** Whether an attempt has found out anything that the last one had not. */
  isNews({ id }: Thesis, outcome: Outcome): boolean {
    const known = this.#unsettled.get(id)?.missing;
    return outcome.status !== "needs_backfill" || known === undefined ||
      JSON.stringify(known) !== JSON.stringify(outcome.missing);
  }

  /** Tries a thesis again at the next checkpoint. */
  retry(id: number): void {
    this.#attempts.push({ dueMs: 0, id });
  }

  /** Tries theses again that lacked prices of this market and time. */
  retryWhere(base: Address, quote: Address, span: TimeSpan): void {
    for (const [id, { thesis, missing = [] }] of this.#unsettled) {
      const isHelped = thesis.base === base && thesis.quote === quote &&
        missing.some((gap) => gap.from < span.to && gap.to > span.from);
      if (isHelped) this.retry(id);
    }
  }

  /** The next thesis that is due, or undefined. Each is given once. */
  nextDue(nowMs: number): Thesis | undefined {
    for (let next = this.#attempts.peek(); next && next.dueMs <= nowMs;) {
      this.#attempts.pop();
      const thesis = this.#unsettled.get(next.id)?.thesis;
      if (thesis !== undefined) return thesis;
      next = this.#attempts.peek();
    }
  }

  /** The spans of time in which unsettled theses of a market need prices, joined and in order. */
  neededSpans(base: Address, quote: Address): TimeSpan[] {
    const windows: TimeSpan[] = [];
    for (const { thesis } of this.#unsettled.values()) {
      if (thesis.base !== base || thesis.quote !== quote) continue;
      windows.push({ from: thesis.startTime, to: thesis.endTime });
    }
    return joinSpans(windows);
  }
}

function joinSpans(spans: TimeSpan[]): TimeSpan[] {
  const joined: TimeSpan[] = [];
  for (const span of spans.sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last === undefined || span.from > last.to) joined.push({ ...span });
    else last.to = Math.max(last.to, span.to);
  }
  return joined;
}
