/** Figures in the Prometheus text format, as every service answers them at `GET /metrics`. */

export interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** Labels that samples must have. */
export type Labels = Readonly<Record<string, string>>;

/** The figures of one answer. */
export class Metrics {
  readonly #samples: ReadonlyMap<string, readonly Sample[]>;

  constructor(samples: ReadonlyMap<string, readonly Sample[]>) {
    this.#samples = samples;
  }

  /** The samples of a metric that have these labels. */
  of(name: string, labels: Labels = {}): readonly Sample[] {
    const wanted = Object.entries(labels);
    return (this.#samples.get(name) ?? [])
      .filter((sample) => wanted.every(([label, value]) => sample.labels[label] === value));
  }

  /** The sum of the samples that have these labels; undefined if there are none. */
  sum(name: string, labels?: Labels): number | undefined {
    const samples = this.of(name, labels);
    return samples.length === 0 ? undefined : samples.reduce((sum, { value }) => sum + value, 0);
  }
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED = /\\(.)/g;

/** Parses the text format; lines that do not fit are left out. */
export function parseMetrics(text: string): Metrics {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    if (line.startsWith("#")) continue;
    const [, name, labels = "", number] = SAMPLE.exec(line.trim()) ?? [];
    if (name === undefined || number === undefined) continue;
    const sample = { labels: parseLabels(labels), value: parseValue(number) };
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

function parseValue(text: string): number {
  return text === "+Inf" ? Infinity : text === "-Inf" ? -Infinity : Number(text);
}

/** How far back {@link MetricsHistory} looks. */
export const WINDOW_MS = 60_000;

/** The figures of the last minute, for what happened in it. */
export class MetricsHistory {
  readonly #answers: readonly { atMs: number; metrics: Metrics }[];

  constructor(answers: readonly { atMs: number; metrics: Metrics }[] = []) {
    this.#answers = answers;
  }

  /** This history with one more answer, and without those that are too old. */
  with(atMs: number, metrics: Metrics): MetricsHistory {
    const kept = this.#answers.filter((answer) => answer.atMs >= atMs - WINDOW_MS);
    return new MetricsHistory([...kept, { atMs, metrics }]);
  }

  /** The newest figures. */
  get latest(): Metrics {
    return this.#answers.at(-1)?.metrics ?? new Metrics(new Map());
  }

  /** The time from the oldest answer to the newest. */
  get spanMs(): number {
    return (this.#answers.at(-1)?.atMs ?? 0) - (this.#answers[0]?.atMs ?? 0);
  }

  /** By how much a counter grew in the time. A counter that fell began anew: its service restarted. */
  increase(name: string, labels?: Labels): number {
    let increase = 0;
    let before: number | undefined;
    for (const { metrics } of this.#answers) {
      const value = metrics.sum(name, labels) ?? 0;
      if (before !== undefined) increase += value >= before ? value - before : value;
      before = value;
    }
    return increase;
  }
}
