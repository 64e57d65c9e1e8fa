import type { Counter } from "prom-client";

/** One series of a counter: a plain number, which prom-client reads at a scrape. */
export interface CounterSeries<L extends string> {
  readonly labels: Record<L, string>;
  count: number;
}

/** Passes the numbers to prom-client at a scrape. */
export function copySeries<L extends string>(
  counter: Counter<L>,
  series: Iterable<CounterSeries<L>>,
): void {
  counter.reset();
  for (const { labels, count } of series) counter.inc(labels, count);
}

/** Makes a value once per label. Labels are bounded; a lookup by prom-client takes much longer. */
export function memoize<K, V>(make: (label: K) => V): (label: K) => V {
  const made = new Map<K, V>();
  return (label) => {
    let thing = made.get(label);
    if (thing === undefined) {
      thing = make(label);
      made.set(label, thing);
    }
    return thing;
  };
}
