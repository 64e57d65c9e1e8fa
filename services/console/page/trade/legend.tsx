/** The line below the chart. */
import type { Market } from "@rangemaker/client";
import type { PageModel } from "../data/page_model.ts";
import { useNow } from "../use_now.ts";
import { countdownOf, nextToEnd } from "./chart_boxes.ts";

/** The countdown of the bet that ends next. */
export function Legend({ model, market }: { model: PageModel; market: Market }) {
  const nowMs = useNow(model.serverClock, 500);
  const bet = nextBet(model, market, nowMs);
  return <p class="open">{bet && `● ${countdownOf(bet, nowMs)}`}</p>;
}

/** The user's bet of a market that ends next, as far as the page's own prices know. */
export function nextBet({ session, withBreach }: PageModel, { base }: Market, nowMs: number) {
  const theses = session.user.value?.portfolio.theses.value ?? [];
  return nextToEnd(theses.filter((thesis) => thesis.base === base).map(withBreach), nowMs);
}
