import { SLOT_MS, slotFrom, type TimeSpan } from "../../../lib/prices/price_slots.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import type { Thesis, ThesisStatus } from "../../../lib/protocol/thesis.ts";
import type { PriceHistory } from "../chain/price_history.ts";

/** Theses that one page looks at, so that a filter that matches few of them costs no more. */
export const THESES_SCANNED_MAX = 10_000;

/** Selects theses. */
export interface ThesesQuery {
  user?: Address;
  solver?: Address;
  status?: ThesisStatus;
  /** Theses on the page at most. */
  limit: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
}

/**
 * One page of the theses that match, oldest first. A page may hold fewer than `limit` theses, even
 * none, and still not be the last: {@link THESES_SCANNED_MAX} of them were looked at.
 *
 * @param theses All theses, by id from 1 on.
 * @returns `nextCursor` is null on the last page.
 */
export function pageOfTheses(
  theses: readonly Thesis[],
  query: ThesesQuery,
): { theses: Thesis[]; nextCursor: string | null } {
  const page: Thesis[] = [];
  const first = Number(query.cursor ?? 0);
  const end = Math.min(theses.length, first + THESES_SCANNED_MAX);
  for (let index = first; index < end; index++) {
    const thesis = theses[index]!; // below the length
    if (!matches(thesis, query)) continue;
    if (page.length === query.limit) {
      return { theses: page, nextCursor: page.at(-1)!.id.toString() }; // a limit is at least 1
    }
    page.push(thesis);
  }
  return { theses: page, nextCursor: end < theses.length ? end.toString() : null };
}

function matches(thesis: Thesis, { user, solver, status }: ThesesQuery): boolean {
  return (user === undefined || thesis.user === user) &&
    (solver === undefined || thesis.solver === solver) &&
    (status === undefined || thesis.status === status);
}

/** Selects recorded prices in `[from, to)`, Unix milliseconds. */
export interface PricesQuery {
  from: number;
  to: number;
  /** Slots on the page at most. */
  limit: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
}

/** One page of recorded prices, as JSON carries them. @returns `nextCursor` is null on the last page. */
export function pageOfPrices(
  history: PriceHistory,
  query: PricesQuery,
): { prices: { time: number; price: string }[]; missing: TimeSpan[]; nextCursor: string | null } {
  const from = slotFrom(Number(query.cursor ?? query.from)) * SLOT_MS;
  const to = Math.min(query.to, from + query.limit * SLOT_MS);
  const prices: { time: number; price: string }[] = [];
  for (let time = from; time < to; time += SLOT_MS) {
    const price = history.at(time);
    if (price !== undefined) prices.push({ time, price: price.toString() });
  }
  const { missing } = history.checkRange(from, to);
  return { prices, missing, nextCursor: to < query.to ? to.toString() : null };
}
