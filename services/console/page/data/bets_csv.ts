/** Bets as a file for spreadsheets. */
import { formatPrice, type Markets, type Thesis } from "@rangemaker/client";
import { dateOf } from "../parts/format.ts";
import { isDecided, isLost } from "./outcome.ts";

const COLUMNS =
  "bet,market,status,placed,starts,ends,lower,upper,stake,payout_if_won,paid,profit," +
  "left_at,left_price,user";

/**
 * The bets as comma-separated values, oldest first; times in UTC, amounts in USDC.
 *
 * @param gainOf The gain from a decided bet: its user's, or its maker's.
 */
export function betsCsv(
  theses: readonly Thesis[],
  markets: Markets,
  gainOf: (thesis: Thesis) => bigint,
): string {
  const time = (ms: number) => dateOf(ms).toISOString();
  const rows = [...theses].sort((a, b) => a.id - b.id).map((thesis) => {
    const { id, base, quote, status, createdAt, startTime, endTime, breach } = thesis;
    const { lowerPrice, upperPrice, betAmount, payout } = thesis;
    const paid = status === "won" ? payout : 0n;
    return [
      id,
      markets.find(base, quote)?.symbol ?? base,
      isLost(thesis) ? "lost" : status,
      ...[createdAt, startTime, endTime].map(time),
      ...[lowerPrice, upperPrice, betAmount, payout].map((value) => formatPrice(value)),
      ...(isDecided(thesis) ? [paid, gainOf(thesis)].map((value) => formatPrice(value)) : ["", ""]),
      ...(breach ? [time(breach.time), formatPrice(breach.price)] : ["", ""]),
      thesis.user,
    ].join();
  });
  return [COLUMNS, ...rows].join("\r\n") + "\r\n";
}
