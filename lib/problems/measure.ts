/** Measures of a service: as PromQL, and computed from the service's own answers. */

/** Values that labels must have; a pattern fits a whole value. */
export type LabelFilter = Readonly<Record<string, string | RegExp>>;

export interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** The answers of one service to `GET /metrics` over some time. */
export interface Figures {
  newest(metric: string, labels?: LabelFilter): readonly Sample[];
  /** The sum of the samples in each answer, oldest first; undefined where there were none. */
  series(metric: string, labels?: LabelFilter): readonly (number | undefined)[];
  /** The time from the oldest answer to the newest. */
  readonly spanMs: number;
  /** Only the newest answers, so that a rate falls soon after its cause has ended. */
  readonly recent: Figures;
  /** The answers of a longer time, with counters that have a window only. */
  over(windowMs: number): Figures;
}

/** An expression with a value for each set of labels. */
export interface Measure {
  promql: string;
  read(figures: Figures): readonly Sample[];
  /** The counter whose growth or shares it is, and the time over which it is counted. */
  counter?: { metric: string; windowMs: number };
}

/** A value that is constant for this long is reported as stuck. */
const WATCHED_MIN_MS = 10_000;

export function gauge(metric: string, labels: LabelFilter = {}): Measure {
  return {
    promql: selector(metric, labels),
    read: (figures) => figures.newest(metric, labels),
  };
}

/** The labels that a counter is filtered by, and the labels that it is grouped by. */
interface Counted {
  labels?: LabelFilter;
  by?: readonly string[];
}

/** The growth of a counter over a window of minutes: less if it was watched for a shorter time. */
export function increase(
  metric: string,
  window: `${number}m`,
  { labels = {}, by = [] }: Counted = {},
): Measure {
  const groups = ["instance", ...by].join(", ");
  const selected = selector(metric, labels);
  // Prometheus extrapolates to the ends of the window, which would show counts such as 2.1.
  const growth = `round(sum by (${groups}) (increase(${selected}[${window}])))`;
  // What a process counts before its first scrape is no increase for Prometheus.
  const sinceStart = `(sum by (${groups}) (${selected}) and on (instance) ` +
    `time() - process_start_time_seconds < ${60 * parseInt(window)})`;
  return overWindow(window, {
    // `a > b or b or a` is the larger of both, or the one that exists.
    promql: `(${sinceStart} > ${growth} or ${growth} or ${sinceStart})`,
    metric,
    labels,
    by,
    valueOf: (series) => growthOf(series),
  });
}

/** Growth of a counter in a second. */
export function rate(
  metric: string,
  window: string,
  { labels = {}, by = [] }: Counted = {},
): Measure {
  const groups = ["instance", ...by].join(", ");
  const measure = ofSeries({
    promql: `sum by (${groups}) (rate(${selector(metric, labels)}[${window}]))`,
    metric,
    labels,
    by,
    valueOf: (series, spanMs) =>
      spanMs < WATCHED_MIN_MS ? undefined : 1_000 * growthOf(series) / spanMs,
  });
  return { ...measure, read: ({ recent }) => measure.read(recent) };
}

/** How often a gauge has changed over a window of minutes. */
export function changes(metric: string, window: `${number}m`): Measure {
  return overWindow(window, {
    promql: `changes(${metric}[${window}])`,
    metric,
    valueOf(series) {
      const known = series.filter((value) => value !== undefined);
      return known.filter((value, index) => index > 0 && value !== known[index - 1]).length;
    },
  });
}

export function lowestOverTime(metric: string, window: string): Measure {
  return ofSeries({
    promql: `min_over_time(${metric}[${window}])`,
    metric,
    valueOf(series, spanMs) {
      // Like Prometheus, without answers in which it is not a number.
      const known = series.map((value) => value ?? 0).filter((value) => !Number.isNaN(value));
      return spanMs < WATCHED_MIN_MS || known.length === 0 ? undefined : Math.min(...known);
    },
  });
}

/** Keeps shares of nothing at 0: less than the smallest amount. */
const TOTAL_MIN = 1e-7;

/** A gauge as a share of the highest total of it and another one; 0 if there was nothing. */
export function shareOfHighest(metric: string, other: string, window: string): Measure {
  return {
    promql:
      `${metric} / clamp_min(max_over_time((${metric} + ${other})[${window}:1m]), ${TOTAL_MIN})`,
    read(figures) {
      const others = figures.series(other);
      const totals = figures.series(metric).map((value, index) =>
        (value ?? 0) + (others[index] ?? 0)
      );
      const highest = Math.max(TOTAL_MIN, ...totals);
      return figures.newest(metric).map(({ labels, value }) => ({
        labels,
        value: value / highest,
      }));
    },
  };
}

export function absolute(measure: Measure): Measure {
  return {
    promql: `abs(${measure.promql})`,
    read: (figures) =>
      measure.read(figures).map(({ labels, value }) => ({ labels, value: Math.abs(value) })),
  };
}

/** The values of both measures. */
export function union(one: Measure, other: Measure): Measure {
  return {
    promql: `(${one.promql} or ${other.promql})`,
    read: (figures) => [...one.read(figures), ...other.read(figures)],
  };
}

/** The values of a measure whose labels also occur in another one (`and`), or do not (`unless`). */
export function matching(
  measure: Measure,
  kind: "and" | "unless",
  other: Measure,
  ...names: string[]
): Measure {
  return {
    promql: `(${measure.promql} ${kind} on (${["instance", ...names].join(", ")}) ${other.promql})`,
    read(figures) {
      const keyOf = ({ labels }: Sample) => JSON.stringify(names.map((name) => labels[name]));
      const known = new Set(other.read(figures).map(keyOf));
      return measure.read(figures).filter((one) => known.has(keyOf(one)) === (kind === "and"));
    },
  };
}

/** The values that are at or above a limit. */
export function atLeast(limit: number, measure: Measure): Measure {
  return {
    promql: `(${measure.promql} >= ${limit})`,
    read: (figures) => measure.read(figures).filter(({ value }) => value >= limit),
  };
}

export function ratio(part: Measure, whole: Measure): Measure {
  return combined(part, "/", whole, (a, b) => b === 0 ? undefined : a / b);
}

/** The events with some labels as a share of all events of a counter, over a window of minutes. */
export function shareOf(metric: string, window: `${number}m`, labels: LabelFilter): Measure {
  const whole = increase(metric, window);
  const { read } = ratio(increase(metric, window, { labels }), whole);
  return { ...whole, ...shareOfRate(metric, window, labels), read };
}

/** The same share, of the latest events only. */
export function shareOfRate(metric: string, window: string, labels: LabelFilter): Measure {
  return ratio(rate(metric, window, { labels }), rate(metric, window));
}

/** A measure minus a multiple of another one. */
export function minus(measure: Measure, other: Measure, times = 1): Measure {
  const subtracted = times === 1 ? other : { ...other, promql: `${times} * ${other.promql}` };
  return combined(measure, "-", subtracted, (a, b) => a - times * b);
}

function combined(
  left: Measure,
  sign: string,
  right: Measure,
  calculate: (a: number, b: number) => number | undefined,
): Measure {
  return {
    promql: `(${left.promql} ${sign} ${right.promql})`,
    read(figures) {
      const others = new Map(
        right.read(figures).map(({ labels, value }) => [JSON.stringify(labels), value]),
      );
      return left.read(figures).flatMap(({ labels, value: a }) => {
        const b = others.get(JSON.stringify(labels));
        const value = b === undefined ? undefined : calculate(a, b);
        return value === undefined ? [] : [{ labels, value }];
      });
    },
  };
}

/** A measure of the values of a metric over time, one for each group of its labels. */
interface SeriesMeasure extends Counted {
  promql: string;
  metric: string;
  /** The value of a group, if there is one, from its sums in each answer and the time they span. */
  valueOf(series: readonly (number | undefined)[], spanMs: number): number | undefined;
}

function ofSeries({ promql, metric, labels = {}, by = [], valueOf }: SeriesMeasure): Measure {
  return {
    promql,
    read(figures) {
      const groups = new Map(
        figures.newest(metric, labels).map(({ labels: series }) => {
          const group = Object.fromEntries(by.map((label) => [label, series[label] ?? ""]));
          return [JSON.stringify(group), group] as const;
        }),
      );
      return [...groups.values()].flatMap((group) => {
        const value = valueOf(figures.series(metric, { ...labels, ...group }), figures.spanMs);
        return value === undefined ? [] : [{ labels: group, value }];
      });
    },
  };
}

/** The same, of what is counted over a window of minutes. */
function overWindow(window: `${number}m`, series: SeriesMeasure): Measure {
  const windowMs = 60_000 * parseInt(window);
  const { promql, read } = ofSeries(series);
  return {
    promql,
    read: (figures) => read(figures.over(windowMs)),
    counter: { metric: series.metric, windowMs },
  };
}

/** The growth of a counter. A value that fell counts from 0: its service restarted. */
export function growthOf(series: readonly (number | undefined)[]): number {
  return series.slice(1).reduce<number>((sum, value = 0, index) => {
    const before = series[index] ?? 0;
    return sum + (value >= before ? value - before : value);
  }, 0);
}

function selector(metric: string, labels: LabelFilter): string {
  const filters = Object.entries(labels).map(([label, value]) =>
    typeof value === "string" ? `${label}="${value}"` : `${label}=~"${value.source}"`
  );
  return filters.length === 0 ? metric : `${metric}{${filters.join(",")}}`;
}
