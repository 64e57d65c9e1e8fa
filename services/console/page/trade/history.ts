/** The user's bets as a list: filtered, by pages, and as a file for a spreadsheet. */
import { formatPrice, type Markets, type Thesis } from "@rangemaker/client";
import { isDecided } from "../data/live_breaches.ts";

export const FILTERS = ["All", "Open", "Won", "Lost"] as const;
export type Filter = (typeof FILTERS)[number];

/** What the columns of the list sort by. */
const SORT_KEYS = {
  "Bet": ({ id }: Thesis) => id,
  "Outcome": gainOf,
  "Market": ({ base }: Thesis) => base,
  "Price stays in": ({ lowerPrice }: Thesis) => lowerPrice,
  "Window": ({ startTime }: Thesis) => startTime,
  "You bet": ({ betAmount }: Thesis) => betAmount,
  "Pays": ({ payout }: Thesis) => payout,
};

/** The bets in another order; equal ones stay in theirs. @param order As a table names it. */
export function sorted(
  theses: readonly Thesis[],
  { by, isDescending }: { by: string; isDescending: boolean },
): readonly Thesis[] {
  const keyOf = Object.entries(SORT_KEYS).find(([name]) => name === by)?.[1] ?? SORT_KEYS.Bet;
  const before = isDescending ? 1 : -1;
  return [...theses].sort((a, b) => {
    const [left, right] = [keyOf(a), keyOf(b)];
    return left === right ? 0 : left < right ? before : -before;
  });
}

/** What the user has won or lost with a bet; 0 while it is open. */
function gainOf(thesis: Thesis): bigint {
  const { status, betAmount, payout } = thesis;
  if (status === "won") return payout - betAmount;
  return isDecided(thesis) ? -betAmount : 0n;
}

/** Rows of one page. */
export const PAGE_ROWS = 25;

export function filtered(theses: readonly Thesis[], filter: Filter): readonly Thesis[] {
  switch (filter) {
    case "All":
      return theses;
    case "Open":
      return theses.filter((thesis) => !isDecided(thesis));
    case "Won":
      return theses.filter(({ status }) => status === "won");
    case "Lost":
      return theses.filter((thesis) => isDecided(thesis) && thesis.status !== "won");
  }
}

/** One page of a list, and how many there are; a page that is gone is the last one. */
export function pageOf<T>(rows: readonly T[], wanted: number) {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  const page = Math.min(Math.max(0, wanted), pages - 1);
  return { page, pages, rows: rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS) };
}

const COLUMNS =
  "bet,market,status,placed,starts,ends,lower,upper,stake,payout,gain,left_at,left_price,user";

/**
 * The bets as comma-separated values, oldest first; times in UTC, amounts in USDC.
 *
 * @param gain What a decided bet has brought: to its user, if nothing else is said.
 */
export function csvOf(
  theses: readonly Thesis[],
  markets: Markets,
  gain: (thesis: Thesis) => bigint = gainOf,
): string {
  const time = (ms: number) => new Date(ms).toISOString();
  const rows = [...theses].sort((a, b) => a.id - b.id).map((thesis) => {
    const { id, base, quote, status, createdAt, startTime, endTime, breach } = thesis;
    const { lowerPrice, upperPrice, betAmount, payout } = thesis;
    return [
      ...[id, markets.find(base, quote)?.symbol ?? base, status],
      ...[createdAt, startTime, endTime].map(time),
      ...[lowerPrice, upperPrice, betAmount, payout].map((value) => formatPrice(value)),
      isDecided(thesis) ? formatPrice(gain(thesis)) : "",
      ...(breach ? [time(breach.time), formatPrice(breach.price)] : ["", ""]),
      thesis.user,
    ].join();
  });
  return [COLUMNS, ...rows].join("\r\n") + "\r\n";
}
