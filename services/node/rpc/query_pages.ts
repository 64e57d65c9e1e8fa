import {
  appendSpan,
  type PricePoint,
  slotAtOrAfter,
  type TimeSpan,
} from "../../../lib/prices/price_slots.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import type { ParamsOf } from "../../../lib/protocol/methods/definition.ts";
import { type readMethods, THESES_PAGE_MAX } from "../../../lib/protocol/methods/reads.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import type { Ledger } from "../chain/ledger.ts";
import type { MarketHistory } from "../chain/price_history.ts";

type ThesesQuery = ParamsOf<typeof readMethods.core_getTheses>["filter"];

/**
 * One page of the theses that match, oldest first. A page that is not the last one may have fewer
 * than `limit` theses, or none: it reads at most {@link THESES_PAGE_MAX} ids, so that a filter that
 * matches few theses delays a checkpoint no longer than a full page.
 *
 * @returns `nextCursor` is null on the last page.
 */
export function pageOfTheses(
  ledger: ThesisSource,
  query: ThesesQuery,
): { theses: Thesis[]; nextCursor: string | null; lastId: number } {
  const { lastThesisId: lastId } = ledger;
  const page: Thesis[] = [];
  const from = Math.max(Number(query.cursor ?? 0) + 1, ledger.firstThesisId);
  const end = Math.min(lastId + 1, from + THESES_PAGE_MAX);
  const { user, solver, status, limit } = query;
  for (const thesis of ledger.thesesBetween(from, end, { user, solver, status }, limit + 1)) {
    if (page.length === limit) {
      return { theses: page, nextCursor: page.at(-1)!.id.toString(), lastId }; // a limit is at least 1
    }
    page.push(thesis);
  }
  return { theses: page, nextCursor: end <= lastId ? `${end - 1}` : null, lastId };
}

type ThesisSource = Pick<Ledger, "firstThesisId" | "lastThesisId" | "thesesBetween">;

/** Selects recorded prices of a market in `[from, to)`, Unix milliseconds. */
export type PricesQuery = ParamsOf<typeof readMethods.core_getPriceHistory>["query"];

/** The last slot whose time is a whole number of milliseconds that JSON represents exactly. */
const LAST_SLOT_MS = Math.floor(Number.MAX_SAFE_INTEGER / SLOT_MS) * SLOT_MS;

/** One page of recorded prices. @returns `nextCursor` is null on the last page. */
export function pageOfPrices(
  history: MarketHistory,
  query: Omit<PricesQuery, "base" | "quote">,
): { prices: PricePoint[]; missing: TimeSpan[]; nextCursor: string | null } {
  const end = Math.min(slotAtOrAfter(query.to) * SLOT_MS, LAST_SLOT_MS);
  const from = slotAtOrAfter(Number(query.cursor ?? query.from)) * SLOT_MS;
  const { searchFrom, searchTo, pageEnd } = pageSpanOf(
    { from, to: end },
    query.limit,
    history.span,
  );
  const prices: PricePoint[] = [];
  for (let time = searchFrom; time < searchTo; time += SLOT_MS) {
    const price = history.at(time);
    if (price !== undefined) prices.push({ time, price });
  }
  const missing: TimeSpan[] = [];
  const within = history.checkRange(searchFrom, searchTo).missing;
  for (const gap of [{ from, to: searchFrom }, ...within, { from: searchTo, to: pageEnd }]) {
    if (gap.from < gap.to) appendSpan(missing, gap);
  }
  return { prices, missing, nextCursor: pageEnd < end ? pageEnd.toString() : null };
}

/** Where a page ends, and the part of it that may have prices: `[searchFrom, searchTo)`. */
function pageSpanOf({ from, to: end }: TimeSpan, limit: number, known: TimeSpan) {
  // Before and after all prices, any time fits on one page.
  const searchFrom = Math.max(from, Math.min(known.from, end));
  const limitEnd = searchFrom + limit * SLOT_MS;
  const pageEnd = limitEnd < known.to ? Math.min(end, limitEnd) : end;
  const searchTo = Math.max(searchFrom, Math.min(pageEnd, limitEnd, known.to));
  return { searchFrom, searchTo, pageEnd };
}
