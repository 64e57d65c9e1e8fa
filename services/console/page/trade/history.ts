/** The list of the user's bets: filters, orders, pages, and a file for spreadsheets. */
import { formatPrice, type Markets, type Thesis } from "@rangemaker/client";
import { isDecided } from "../data/live_breaches.ts";
import { gainOf } from "../data/results.ts";

/** The filters of the list. */
export const FILTERS = {
  All: () => true,
  Open: (thesis: Thesis) => !isDecided(thesis),
  Won: ({ status }: Thesis) => status === "won",
  Lost: (thesis: Thesis) => isDecided(thesis) && thesis.status !== "won",
};

/** The orders of the list: newest or largest first. */
export const ORDERS: Readonly<Record<string, (thesis: Thesis) => bigint>> = {
  "newest": ({ id }) => BigInt(id),
  "profit": userGainOf,
  "your bet": ({ betAmount }) => betAmount,
  "payout": ({ payout }) => payout,
};

/** The bets in the given order; equal ones keep theirs. @param order A name of {@link ORDERS}. */
export function sorted(theses: readonly Thesis[], order: string): readonly Thesis[] {
  const keyOf = ORDERS[order] ?? userGainOf;
  return [...theses].sort((a, b) => Number(keyOf(b) - keyOf(a)));
}

/** The user's gain or loss on a bet; 0 while it is open. */
function userGainOf(thesis: Thesis): bigint {
  return -gainOf(thesis);
}

/** Rows of one page. */
export const PAGE_ROWS = 25;

/** One page of a list, and the number of pages. A page beyond the end becomes the last one. */
export function pageOf<T>(rows: readonly T[], wanted: number) {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  const page = Math.min(Math.max(0, wanted), pages - 1);
  return { page, pages, rows: rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS) };
}

const COLUMNS = "bet,market,status,placed,starts,ends,lower,upper,stake,payout_if_won,paid,gain," +
  "left_at,left_price,user";

interface CsvOptions {
  /** The gain from a decided bet: its user's, or its maker's. */
  gain(thesis: Thesis): bigint;
  /** A last column that only the reader knows, empty where it is unknown. */
  extra: { name: string; valueOf(thesis: Thesis): string };
}

/** The bets as comma-separated values, oldest first; times in UTC, amounts in USDC. */
function csvOf(theses: readonly Thesis[], markets: Markets, { gain, extra }: CsvOptions): string {
  const time = (ms: number) => new Date(ms).toISOString();
  const rows = [...theses].sort((a, b) => a.id - b.id).map((thesis) => {
    const { id, base, quote, status, createdAt, startTime, endTime, breach } = thesis;
    const { lowerPrice, upperPrice, betAmount, payout } = thesis;
    const paid = status === "won" ? payout : 0n;
    return [
      ...[id, markets.find(base, quote)?.symbol ?? base, status],
      ...[createdAt, startTime, endTime].map(time),
      ...[lowerPrice, upperPrice, betAmount, payout].map((value) => formatPrice(value)),
      ...(isDecided(thesis) ? [paid, gain(thesis)].map((value) => formatPrice(value)) : ["", ""]),
      ...(breach ? [time(breach.time), formatPrice(breach.price)] : ["", ""]),
      ...[thesis.user, extra.valueOf(thesis)],
    ].join();
  });
  return [`${COLUMNS},${extra.name}`, ...rows].join("\r\n") + "\r\n";
}

/** @param signedFor The payouts that the user signed, by quote hash, as far as they are known. */
export function userCsv(
  theses: readonly Thesis[],
  markets: Markets,
  signedFor: Readonly<Record<string, string>>,
): string {
  const valueOf = ({ quoteHash }: Thesis) => {
    const signed = signedFor[quoteHash];
    return signed === undefined ? "" : formatPrice(BigInt(signed));
  };
  return csvOf(theses, markets, { gain: userGainOf, extra: { name: "signed_for", valueOf } });
}

/** @param probabilities Quoted probabilities by quote hash, as far as the solver keeps them. */
export function makerCsv(
  theses: readonly Thesis[],
  markets: Markets,
  probabilities: ReadonlyMap<string, number>,
): string {
  const valueOf = ({ quoteHash }: Thesis) => String(probabilities.get(quoteHash) ?? "");
  return csvOf(theses, markets, { gain: gainOf, extra: { name: "probability", valueOf } });
}
