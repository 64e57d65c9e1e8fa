import { isUnsettled, SLOT_MS, type Thesis } from "@rangemaker/client";
import { formatQuotePrice, formatRounded, toNumber } from "../format.ts";
import type { PriceSeries } from "./price_series.ts";

/** The page's prices may be a slot off, so prices this close to a window's edges prove nothing. */
const EDGE_MS = 2 * SLOT_MS;

/** A price outside the box, and its time. */
export type Breach = NonNullable<Thesis["breach"]>;

/**
 * The first price outside a box within its window, as far as a page has seen it.
 *
 * @param fromMs Earlier prices are known to be inside.
 */
export function firstOutside(
  { lowerPrice, upperPrice, startTime, endTime }: Box,
  series: PriceSeries,
  fromMs = startTime + EDGE_MS,
): Breach | undefined {
  const { times, prices } = series;
  const [lower, upper] = [toNumber(lowerPrice), toNumber(upperPrice)];
  const endIndex = series.indexAt(endTime - EDGE_MS);
  for (let index = series.indexAt(fromMs); index < endIndex; index++) {
    const price = prices[index]!; // below the length of both arrays
    if (price >= lower && price <= upper) continue;
    return { time: times[index]!, price: BigInt(Math.round(price * 1e6)) };
  }
  return undefined;
}

/** The prices and times of a bet or a quote. */
type Box = Pick<Thesis, "lowerPrice" | "upperPrice" | "startTime" | "endTime">;

interface Look {
  /** Prices before this time were compared. */
  toMs: number;
  breach: Breach | undefined;
}

/**
 * Finds from the page's own prices that the price has left an open box. The node reports it a
 * moment later, or much later if the connection is down.
 */
export class LiveBreaches {
  readonly #looks = new Map<string, Look>();

  /** A thesis with the breach that the page has seen. The node may still list it as open. */
  withBreach(thesis: Thesis, series: PriceSeries | undefined): Thesis {
    if (!isUnsettled(thesis.status) || thesis.breach !== undefined || series === undefined) {
      this.#looks.delete(thesis.quoteHash);
      return thesis;
    }
    const breach = this.#lookAt(thesis, series);
    return breach === undefined ? thesis : { ...thesis, breach };
  }

  #lookAt(thesis: Thesis, series: PriceSeries): Breach | undefined {
    const { quoteHash, startTime } = thesis;
    const look = this.#looks.get(quoteHash) ?? { toMs: startTime + EDGE_MS, breach: undefined };
    this.#looks.set(quoteHash, look);
    look.breach ??= firstOutside(thesis, series, look.toMs);
    look.toMs = Math.max(look.toMs, series.times.at(-1) ?? 0);
    return look.breach;
  }
}

/** Whether the outcome of a thesis is known: settled by the node, or the page saw the breach. */
export function isDecided({ status, breach }: Thesis): boolean {
  return !isUnsettled(status) || breach !== undefined;
}

/** The outcome of a decided bet in words; for a lost bet, also where the price left the box. */
export function outcomeText(thesis: Thesis): string {
  const { id, status, betAmount, payout, breach, lowerPrice, upperPrice } = thesis;
  if (status === "won") {
    return `Bet ${id} won ${formatRounded(payout - betAmount)} USDC: ${
      formatRounded(payout)
    } paid out.`;
  }
  const lost = `Bet ${id} lost: ${formatRounded(betAmount)} USDC.`;
  if (breach === undefined) return lost;
  const price = (exact: bigint) => formatQuotePrice(toNumber(exact));
  return `${lost} The price ` +
    (breach.price < lowerPrice
      ? `fell to ${price(breach.price)}, below ${price(lowerPrice)}.`
      : `rose to ${price(breach.price)}, above ${price(upperPrice)}.`);
}
