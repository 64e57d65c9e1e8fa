import type { PageModel } from "../data/page_model.ts";
import { formatQuotePrice, toNumber } from "../parts/format.ts";

/** Whether the newest price is out of date. */
export function isOld({ stateOf }: PageModel, symbol: string): boolean {
  const state = stateOf(symbol);
  return state === "stale" || state === "away";
}

/** The newest price of a market as text. */
export function priceText({ feed }: PageModel, symbol: string): string {
  const price = feed.latest.value[symbol]?.price;
  return price === undefined ? "–" : formatQuotePrice(toNumber(price));
}
