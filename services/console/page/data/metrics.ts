/** Reads metrics in the Prometheus text format, which each service has at `GET /metrics`. */
import {
  COUNTER_METRICS,
  COUNTER_WINDOW_MS,
  type Figures,
  growthOf,
  type LabelFilter,
  type Problem,
  PROBLEMS,
  type Sample,
} from "../../../../lib/problems/mod.ts";

/** The metrics of one answer. */
export class Metrics {
  readonly #samples: ReadonlyMap<string, readonly Sample[]>;

  constructor(samples: ReadonlyMap<string, readonly Sample[]>) {
    this.#samples = samples;
  }

  /** Whether nothing in the answer was a figure: something else than a service has answered. */
  get isEmpty(): boolean {
    return this.#samples.size === 0;
  }

  /** The samples of a metric that have these labels. */
  samplesOf(name: string, labels: LabelFilter = {}): readonly Sample[] {
    const wanted = Object.entries(labels);
    return (this.#samples.get(name) ?? [])
      .filter((sample) =>
        wanted.every(([label, value]) => fits(sample.labels[label] ?? "", value))
      );
  }

  /** The sum of the samples that have these labels; undefined if there are none. */
  sum(name: string, labels?: LabelFilter): number | undefined {
    const samples = this.samplesOf(name, labels);
    return samples.length === 0 ? undefined : samples.reduce((sum, { value }) => sum + value, 0);
  }

  /** When the process of the service started, Unix milliseconds. */
  get startedAtMs(): number | undefined {
    const startedAtS = this.sum(STARTED);
    return startedAtS === undefined ? undefined : 1_000 * startedAtS;
  }

  /** Only some of the metrics, for a long history. */
  select(...names: string[]): Metrics {
    return new Metrics(new Map(names.map((name) => [name, this.samplesOf(name)])));
  }
}

/** Matches like Prometheus: a pattern must match the whole value. */
function fits(text: string, wanted: string | RegExp): boolean {
  if (typeof wanted === "string") return text === wanted;
  return new RegExp(`^(?:${wanted.source})$`).test(text);
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED = /\\(.)/g;

/** Parses the text format; malformed lines are ignored. */
export function parseMetrics(text: string): Metrics {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    const [, name, labels = "", number] = SAMPLE.exec(line) ?? [];
    if (name === undefined || number === undefined) continue;
    const value = Number(number.replace("Inf", "Infinity"));
    if (Number.isNaN(value) && !/^nan$/i.test(number)) continue; // the library writes `Nan`
    const sample = { labels: parseLabels(labels), value };
    const known = samples.get(name);
    if (known === undefined) samples.set(name, [sample]);
    else known.push(sample);
  }
  return new Metrics(samples);
}

function parseLabels(text: string): Record<string, string> {
  const labels = [...text.matchAll(LABEL)].map(([, label = "", value = ""]) =>
    [label, value.replace(ESCAPED, (_, letter) => letter === "n" ? "\n" : letter)] as const
  );
  return Object.fromEntries(labels);
}

/** How far back {@link MetricsHistory} looks. */
export const WINDOW_MS = 60_000;

/** How far back rates look. */
export const RECENT_MS = 15_000;

const STARTED = "process_start_time_seconds";

/** What is kept of answers that are older than {@link WINDOW_MS}. */
const KEPT = new Set([...COUNTER_METRICS, STARTED]);

/** The problems whose figures are shown. */
export const FIGURES = PROBLEMS.filter(({ title }) => title !== undefined);

/** How many values of a figure are kept: some three minutes of a service that answers. */
export const TREND_MAX = 120;

/** The worst value of a figure; undefined if it has none. */
export function worstOf({ op }: Problem["bound"], samples: readonly Sample[]): number | undefined {
  const values = samples.map(({ value }) => value);
  if (values.length === 0) return undefined;
  return op === ">" ? Math.max(0, ...values) : Math.min(...values);
}

interface Answer {
  atMs: number;
  metrics: Metrics;
}

/** The metrics of the last minute or longer, from which rates are computed. */
export class MetricsHistory implements Figures {
  readonly #answers: readonly Answer[];
  /** Counters of the time before, as far back as alerts count. */
  readonly #older: readonly Answer[];
  /** The last {@link TREND_MAX} values of each figure that the newest answer has, oldest first. */
  readonly trends = new Map<Problem, readonly number[]>();

  constructor(answers: readonly Answer[] = [], older: readonly Answer[] = []) {
    this.#answers = answers;
    this.#older = older;
  }

  /** This history with one more answer, and without answers that are too old. */
  with(atMs: number, metrics: Metrics): MetricsHistory {
    const isOld = (answer: Answer) => answer.atMs < atMs - WINDOW_MS;
    // Rates have no value before the first answer: a clock that is set back must not hide them.
    const isPast = (answer: Answer) => answer.atMs <= atMs;
    const older = [
      ...this.#older.filter(isPast),
      ...this.#answers.filter(isOld).map(({ atMs, metrics }) => ({
        atMs,
        metrics: metrics.select(...KEPT),
      })),
    ].filter((answer) => answer.atMs >= atMs - COUNTER_WINDOW_MS);
    const kept = this.#answers.filter((answer) => !isOld(answer) && isPast(answer));
    const next = new MetricsHistory([...kept, { atMs, metrics }], older);
    for (const problem of FIGURES) {
      const worst = worstOf(problem.bound, problem.measure.read(next));
      if (worst === undefined) continue;
      next.trends.set(problem, [...this.trends.get(problem) ?? [], worst].slice(-TREND_MAX));
    }
    return next;
  }

  over(windowMs: number): MetricsHistory {
    const fromMs = this.latestMs - windowMs;
    const answers = [...this.#older, ...this.#answers].filter(({ atMs }) => atMs >= fromMs);
    // The counters of a process that has started within the window were 0 before.
    const isYoung = (answers[0]?.metrics.startedAtMs ?? -Infinity) >= fromMs;
    const start = { atMs: fromMs, metrics: new Metrics(new Map()) };
    return new MetricsHistory(isYoung ? [start, ...answers] : answers);
  }

  get recent(): MetricsHistory {
    const fromMs = this.latestMs - RECENT_MS;
    return new MetricsHistory(this.#answers.filter(({ atMs }) => atMs >= fromMs));
  }

  get latest(): Metrics {
    return this.#answers.at(-1)?.metrics ?? new Metrics(new Map());
  }

  /** When the newest figures were read; 0 if there are none. */
  get latestMs(): number {
    return this.#answers.at(-1)?.atMs ?? 0;
  }

  /** When the oldest known figures were read; 0 if there are none. */
  get startMs(): number {
    return (this.#older[0] ?? this.#answers[0])?.atMs ?? 0;
  }

  get spanMs(): number {
    return this.latestMs - (this.#answers[0]?.atMs ?? 0);
  }

  newest(name: string, labels?: LabelFilter): readonly Sample[] {
    return this.latest.samplesOf(name, labels);
  }

  series(name: string, labels?: LabelFilter): readonly (number | undefined)[] {
    return this.#answers.map(({ metrics }) => metrics.sum(name, labels));
  }

  /** By how much a counter grew in the time of this history. */
  increase(name: string, labels?: LabelFilter): number {
    return growthOf(this.series(name, labels));
  }
}
