import { Counter, type Registry } from "prom-client";

/** A series of a {@link SeriesCounter}. */
export interface CounterSeries {
  count: number;
}

/** A counter for hot paths: a series is looked up once, and is a plain number until a scrape. */
export class SeriesCounter<L extends string> extends Counter<L> {
  readonly #all: { labels: Record<L, string>; series: CounterSeries }[];

  constructor(registry: Registry, name: string, help: string, ...labelNames: L[]) {
    const all: { labels: Record<L, string>; series: CounterSeries }[] = [];
    super({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, series } of all) this.inc(labels, series.count);
      },
    });
    this.#all = all;
  }

  /** Creates a series, once per combination of labels. */
  series(labels: Record<L, string>): CounterSeries {
    const series = { count: 0 };
    this.#all.push({ labels, series });
    return series;
  }
}

/** Makes a value once per label. Labels are bounded; a lookup by prom-client takes much longer. */
export function memoize<K, V>(make: (label: K) => V): (label: K) => V {
  const made = new Map<K, V>();
  return (label) => {
    let value = made.get(label);
    if (value === undefined) {
      value = make(label);
      made.set(label, value);
    }
    return value;
  };
}
