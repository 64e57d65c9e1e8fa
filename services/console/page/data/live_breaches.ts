import { signal } from "@preact/signals";
import { isUnsettled, SLOT_MS, type Thesis } from "@rangemaker/client";
import { fromNumber, toNumber } from "../parts/format.ts";
import type { PriceSeries } from "./price_series.ts";

/** The page's prices may be a slot off, so prices this close to a window's edges prove nothing. */
const EDGE_MS = 2 * SLOT_MS;

/** A price outside the box, and its time. */
type Breach = NonNullable<Thesis["breach"]>;

/** The first price outside a box from a time on, within its window, as far as a page has seen it. */
function firstOutside(
  { lowerPrice, upperPrice, endTime }: Thesis,
  series: PriceSeries,
  fromMs: number,
): Breach | undefined {
  const { times, prices } = series;
  const [lower, upper] = [toNumber(lowerPrice), toNumber(upperPrice)];
  const endIndex = series.indexAt(endTime - EDGE_MS);
  for (let index = series.indexAt(fromMs); index < endIndex; index++) {
    const price = prices[index]!; // below the length of both arrays
    if (price >= lower && price <= upper) continue;
    return { time: times[index]!, price: fromNumber(price) };
  }
  return undefined;
}

interface Comparison {
  series: PriceSeries;
  /** Prices before this time were compared with the box. */
  toMs: number;
  breach: Breach | undefined;
}

/**
 * Finds from the page's own prices that the price has left an open box. The node reports it a
 * moment later, or much later if the connection is down. A breach that one view finds is shown by
 * all views at once.
 */
export class LiveBreaches {
  readonly #comparisons = new WeakMap<Thesis, Comparison>();
  readonly #found = signal(0);

  /** A thesis with the breach that the page has seen. The node may still list it as open. */
  withBreach(thesis: Thesis, series: PriceSeries | undefined): Thesis {
    const isKnown = !isUnsettled(thesis.status) || thesis.breach !== undefined;
    if (isKnown || series === undefined) return thesis;
    void this.#found.value;
    const breach = this.#breachOf(thesis, series);
    return breach === undefined ? thesis : { ...thesis, breach };
  }

  #breachOf(thesis: Thesis, series: PriceSeries): Breach | undefined {
    let known = this.#comparisons.get(thesis);
    if (known?.series !== series) {
      known = { series, toMs: thesis.startTime + EDGE_MS, breach: undefined };
      this.#comparisons.set(thesis, known);
    }
    if (known.breach === undefined) {
      known.breach = firstOutside(thesis, series, known.toMs);
      // Not while a view is drawn that reads it.
      if (known.breach !== undefined) queueMicrotask(() => this.#found.value++);
    }
    known.toMs = Math.max(known.toMs, series.times.at(-1) ?? 0);
    return known.breach;
  }
}
