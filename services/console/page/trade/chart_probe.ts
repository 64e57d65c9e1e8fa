/** The place on the chart that the pointer shows, and what a box there would pay. */
import { type Signal, signal } from "@preact/signals";
import type { Bet } from "@rangemaker/client";
import type { Estimator } from "../data/estimator.ts";
import type { PriceSeries } from "../data/price_series.ts";
import { durationText, formatQuotePrice, formatTime } from "../format.ts";
import { type Draft, draftOf } from "./draft.ts";
import { oddsOf } from "./odds.ts";

/** A place on the chart. */
export interface Place {
  timeMs: number;
  price: number;
}

/** A box that a pointer suggests lasts this part of the future that is shown. */
const PART = 4;

export interface ProbeOptions {
  /** Asks one thing at a time, bounds the pauses and aborts what is outdated. */
  estimator: Estimator;
  now(): number;
}

/** Follows the pointer over the chart. */
export class ChartProbe {
  readonly place: Signal<Place | undefined> = signal(undefined);
  readonly #options: ProbeOptions;

  constructor(options: ProbeOptions) {
    this.#options = options;
  }

  /** Shows a place. @param bet What is estimated there; nothing in the past or over a box. */
  show(place: Place, bet: Bet | undefined): void {
    this.place.value = place;
    if (bet === undefined) this.#options.estimator.clear();
    else this.#options.estimator.ask(bet);
  }

  hide(): void {
    this.place.value = undefined;
    this.#options.estimator.clear();
  }

  /** The place in words: in the past the price at that time, in the future what a box there pays. */
  textAt({ timeMs, price }: Place, series: PriceSeries): string {
    if (timeMs < this.#options.now()) {
      const known = series.prices[series.indexAt(timeMs)];
      const text = known === undefined ? "no price" : formatQuotePrice(known);
      return `${text} at ${formatTime(timeMs)}`;
    }
    const here = `${formatQuotePrice(price)} at ${formatTime(timeMs)}`;
    const state = this.#options.estimator.state.peek();
    if (state === undefined) return here;
    if ("failure" in state) return `${here}: no bet up to here`;
    const { bet: { startTime, endTime }, estimate } = state;
    const { multiplier } = oddsOf(estimate, undefined);
    return `${here}: staying this close for ${
      durationText(endTime - startTime)
    } pays ${multiplier}`;
  }
}

/** A box around the newest price that reaches as far as a place, from its time on. */
export function draftAt(
  { timeMs, price }: Place,
  nowMs: number,
  { futureMs, spot }: { futureMs: number; spot: number },
): Draft | undefined {
  const half = Math.abs(price - spot);
  const fromMs = timeMs - nowMs;
  const toMs = fromMs + Math.max(1_000, futureMs / PART);
  return draftOf({ fromMs, toMs, low: spot - half, high: spot + half });
}
