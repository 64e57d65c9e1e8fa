/** The list of the user's bets: filters and pages. */
import type { Thesis } from "@rangemaker/client";
import { isDecided, isLost } from "../data/outcome.ts";
import { clamp } from "../parts/format.ts";

/** The filters of the list. */
export const FILTERS = {
  All: () => true,
  Open: (thesis: Thesis) => !isDecided(thesis),
  Won: ({ status }: Thesis) => status === "won",
  Lost: isLost,
};

/** Rows of one page. */
export const PAGE_ROWS = 25;

/** One page of a list, and the number of pages. A page beyond the end becomes the last one. */
export function pageOf<T>(rows: readonly T[], wanted: number) {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  const page = clamp(wanted, 0, pages - 1);
  return { page, pages, rows: rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS) };
}
