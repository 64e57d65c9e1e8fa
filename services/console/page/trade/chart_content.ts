/** What the chart shows: prices, the user's bets, and the box that the user is making. */
import { computed, type Signal } from "@preact/signals";
import type { Market, Quote } from "@rangemaker/client";
import { betsOn } from "../data/outcome.ts";
import type { PageModel } from "../data/page_model.ts";
import type { Point } from "../data/price_series.ts";
import { formatCents } from "../parts/format.ts";
import type { BetSlip } from "./bet_slip.ts";
import { suggestionOf } from "./box_actions.ts";
import { betAt, boxOfDraft, boxOfQuote, boxOfThesis, type ChartBox } from "./chart_boxes.ts";
import type { ChartContent } from "./chart_frame.ts";
import type { ChartProbe } from "./chart_probe.ts";
import type { Draft } from "./draft.ts";
import { signableMs } from "./quote_life.ts";

/** Everything that the chart of a market shows and changes. */
export interface ChartSource {
  model: PageModel;
  slip: BetSlip;
  market: Market;
  spanMs: Signal<number>;
  /** The highlighted bet, on the chart and in the list. */
  chosen: Signal<number | undefined>;
}

/** The user's topmost bet at a position. */
export function ownBetAt({ model, market }: ChartSource, { time, price }: Point, nowMs: number) {
  return betAt(boxesOf(model, market, nowMs), time, price);
}

function boxesOf(model: PageModel, market: Market, nowMs: number): ChartBox[] {
  const isAway = model.feed.isAway.peek();
  return betsOn(model.bets, market).map((bet) => boxOfThesis(bet, nowMs, isAway)).reverse();
}

/** Content of the chart at each frame. */
export function createContentReader(
  { model, slip, market, spanMs, chosen }: ChartSource,
  probe: ChartProbe,
) {
  const { feed, serverClock } = model;
  const history = feed.historyOf(market.symbol);
  /** Updated when bets or prices change. */
  const bets = computed(() => {
    void feed.latest.value;
    return boxesOf(model, market, serverClock.now());
  });
  /** It stays while only a time is wrong. */
  let drawn: Draft | undefined;
  return (): ChartContent => {
    const { series } = history;
    const nowMs = serverClock.now();
    const placed = feed.isAway.peek() ? boxesOf(model, market, nowMs) : bets.peek();
    const { lower, upper } = slip.parsed.peek().errors;
    const isPriceWrong = lower !== undefined || upper !== undefined;
    if (slip.draft !== undefined || slip.isEmpty || isPriceWrong) drawn = slip.draft;
    const own = ownBox(slip, drawn, nowMs);
    const place = probe.place.peek();
    // Until prices of the past are loaded, the height of a suggested box may still change.
    const isFree = history.isLoaded.peek() && slip.isEmpty && own === undefined &&
      placed.every(({ kind, toMs }) => kind === "lost" || toMs < nowMs);
    const suggested = isFree ? suggestionOf(model, slip) : undefined;
    return {
      series,
      boxes: own === undefined ? placed : [...placed, own],
      draft: isLocked(slip, nowMs) ? undefined : slip.draft,
      highlighted: chosen.peek(),
      probe: place && { place, text: probe.textAt(place, series, nowMs) },
      hint: suggested && boxOfDraft(suggested, nowMs, "Tap or draw"),
      isOld: feed.isOld(market.symbol),
      nowMs,
      spanMs: spanMs.peek(),
    };
  };
}

/** The quote that is shown in place of the drawn box, until it has expired. */
function quoteOn({ stage }: Pick<BetSlip, "stage">, nowMs: number): Quote | undefined {
  const now = stage.peek();
  if (!("offer" in now) || now.name === "placed") return undefined;
  const { quote } = now.offer;
  return now.name !== "quoted" || signableMs(quote, nowMs) > 0 ? quote : undefined;
}

/** Whether a finger leaves the box as it is, because it is quoted. */
export function isLocked(slip: Pick<BetSlip, "stage">, nowMs: number): boolean {
  return slip.stage.peek().name === "quoting" || quoteOn(slip, nowMs) !== undefined;
}

/** The box that the user is making: as quoted until the quote has expired, otherwise as drawn. */
function ownBox(slip: BetSlip, drawn: Draft | undefined, nowMs: number): ChartBox | undefined {
  const quote = quoteOn(slip, nowMs);
  if (quote !== undefined) return boxOfQuote(quote);
  if (drawn === undefined || slip.stage.peek().name === "placed") return undefined;
  const estimate = slip.estimate.peek();
  return boxOfDraft(drawn, nowMs, estimate ? `pays ${formatCents(estimate.payout)}` : "");
}
