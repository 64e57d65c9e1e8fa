import type { Counter } from "prom-client";

/** One series of a counter: a plain number, which prom-client reads at a scrape. */
export interface Tally<L extends string> {
  readonly labels: Record<L, string>;
  count: number;
}

/** Passes the numbers to prom-client at a scrape. */
export function copyTallies<L extends string>(
  counter: Counter<L>,
  tallies: Iterable<Tally<L>>,
): void {
  counter.reset();
  for (const { labels, count } of tallies) counter.inc(labels, count);
}

/** Makes a value once per label. Labels are bounded; a lookup by prom-client takes much longer. */
export function oncePer<K, V>(make: (label: K) => V): (label: K) => V {
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
