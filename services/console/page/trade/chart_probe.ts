/** The position of the pointer on the chart, and what a box there would pay. */
import { type Signal, signal } from "@preact/signals";
import type { Bet, Market } from "@rangemaker/client";
import { Estimator } from "../data/estimator.ts";
import type { Point, PriceSeries } from "../data/price_series.ts";
import { durationText, formatQuotePrice, formatTime, toNumber } from "../parts/format.ts";
import type { BetSlip, TradeModel } from "./bet_slip.ts";
import { betFromDraft, draftOf, DURATION_MIN_MS } from "./draft.ts";
import { tryParseDecimal } from "./input.ts";
import { multiplierOf } from "../data/odds.ts";

/** A box suggested at the pointer lasts one part in this many of the shown future. */
const FUTURE_PARTS = 4;

/** The stake if the user has entered none: 10 USDC. */
const STAKE = 10_000_000n;

interface ProbeOptions {
  model: Pick<TradeModel, "client" | "feed" | "serverClock">;
  slip: Pick<BetSlip, "stage" | "fields">;
  market: Market;
}

/** Follows the pointer over the chart. */
export class ChartProbe {
  readonly place: Signal<Point | undefined> = signal(undefined);
  readonly #options: ProbeOptions;
  readonly #estimator: Estimator;

  constructor(options: ProbeOptions) {
    this.#options = options;
    this.#estimator = new Estimator(options.model.client, options.model.serverClock);
  }

  /**
   * Shows a position, or none.
   *
   * @param endMs The end of the chart, if a box may be drawn at the position.
   */
  show(place: Point | undefined, endMs?: number): void {
    this.place.value = place;
    const bet = place && endMs !== undefined ? this.#betAt(place, endMs) : undefined;
    if (bet === undefined) this.#estimator.clear();
    else this.#estimator.ask(bet);
  }

  /** The text for a position: the price at a past time, or what a box at a future time pays. */
  textAt({ time, price }: Point, series: PriceSeries, nowMs: number): string {
    const shown = time < nowMs ? series.prices[series.indexAt(time)] : price;
    const text = shown === undefined ? "no price" : formatQuotePrice(shown);
    const here = `${text} at ${formatTime(time)}`;
    const state = this.#estimator.state.peek();
    if (state === undefined || time < nowMs) return here;
    if ("failure" in state) return `${here}: no bet up to here`;
    const { startTime, endTime } = state.bet;
    const length = durationText(endTime - startTime);
    return `${here}: staying this close for ${length} pays ${multiplierOf(state.estimate)}`;
  }

  #betAt(place: Point, endMs: number): Bet | undefined {
    const { model, slip, market: { symbol } } = this.#options;
    const nowMs = model.serverClock.now();
    const newest = model.feed.latest.peek()[symbol];
    const isFresh = model.feed.stateOf(symbol) === "fresh" && slip.stage.peek().name === "draft";
    if (!isFresh || newest === undefined || place.time < nowMs) return undefined;
    // A box around the newest price that reaches as far as the position, and starts at its time.
    const spot = toNumber(newest.price);
    const half = Math.abs(place.price - spot);
    const fromMs = place.time - nowMs;
    const toMs = fromMs + Math.max(DURATION_MIN_MS, (endMs - nowMs) / FUTURE_PARTS);
    const draft = draftOf({ fromMs, toMs, low: spot - half, high: spot + half });
    return draft &&
      betFromDraft(symbol, draft, tryParseDecimal(slip.fields.peek().amount) ?? STAKE, nowMs);
  }
}
