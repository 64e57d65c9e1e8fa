import type { CoreClient } from "../../../lib/net/core_client.ts";
import { pagesOf } from "../../../lib/net/pages.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import type { ExposureBook } from "./exposure_book.ts";

/** Theses in one answer of the node: its own limit. */
const PAGE = 1_000;

/**
 * Reads all open theses of a solver into its book. Once `signal` is aborted, they no longer count.
 *
 * @throws {RangemakerError} If the node cannot be asked.
 */
export async function readOpenTheses(
  book: ExposureBook,
  node: Pick<CoreClient, "getTheses">,
  solver: Address,
  signal: AbortSignal,
): Promise<void> {
  book.beginReading();
  const theses: Thesis[] = [];
  // In this order, a thesis that changes its state between the two reads is not missed.
  for (const status of ["open", "needs_backfill"] as const) {
    const read = (cursor?: string) => node.getTheses({ solver, status, limit: PAGE, cursor });
    for await (const page of pagesOf(read)) theses.push(...page.theses);
  }
  if (!signal.aborted) book.endReading(theses);
}
