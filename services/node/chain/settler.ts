import TinyQueue from "tinyqueue";
import type { PriceReader, TimeSpan } from "../../../lib/prices/price_slots.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { type Outcome, settle } from "./settlement.ts";

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
