import { Counter, Gauge, Histogram, type LabelValues, Registry } from "prom-client";

/**
 * Creates a registry with process metrics. Each service has its own, so that several can run in one
 * process; the services of one process report the same start time.
 */
export function createRegistry(): Registry {
  const registry = new Registry();
  const { gauge, scrapedGauge } = metricsIn(registry);
  gauge("process_start_time_seconds", "Start time of the process since the Unix epoch.")
    .set(performance.timeOrigin / 1000);
  scrapedGauge(
    "process_resident_memory_bytes",
    "Resident memory of the process.",
    () => Deno.memoryUsage().rss,
  );
  scrapedGauge(
    "process_heap_used_bytes",
    "JavaScript heap in use.",
    () => Deno.memoryUsage().heapUsed,
  );
  return registry;
}

/** The value of one series at a scrape. */
type Sample<L extends string> = [labels: LabelValues<L>, value: number];

/** Declares metrics in a registry, one a call. */
export function metricsIn(registry: Registry) {
  const registers = [registry];
  return {
    counter: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Gauge({ name, help, labelNames, registers }),
    /** @param buckets Upper bounds, ascending. */
    histogram: <L extends string>(
      name: string,
      help: string,
      buckets: number[],
      ...labelNames: L[]
    ) => new Histogram({ name, help, labelNames, buckets, registers }),
    /** A gauge without labels, read at each scrape. */
    scrapedGauge: (name: string, help: string, read: () => number | Promise<number>) =>
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          this.set(await read());
        },
      }),
    /** A gauge with labels, read at each scrape. Labels missing from a read have no value. */
    scrapedGauges: <L extends string>(
      name: string,
      help: string,
      labelNames: L[],
      read: () => Iterable<Sample<L>>,
    ) => new Gauge({ name, help, labelNames, registers, collect: collectorOf(read) }),
    /** The same for values that only grow. */
    scrapedCounters: <L extends string>(
      name: string,
      help: string,
      labelNames: L[],
      read: () => Iterable<Sample<L>>,
    ) => new Counter({ name, help, labelNames, registers, collect: collectorOf(read) }),
  };
}

/** Replaces all values of a metric by those of a read. */
function collectorOf<L extends string>(read: () => Iterable<Sample<L>>) {
  return function (this: Gauge<L> | Counter<L>) {
    this.reset();
    for (const [labels, value] of read()) this.inc(labels, value);
  };
}
