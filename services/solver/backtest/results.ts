import { BlockSeries } from "./block_series.ts";
import type { Trial, TrialKind } from "./maker.ts";

/** Calibration is shown by tenths of the scale. */
export const BUCKETS = 10;

/** The boxes whose probability lies in one tenth of the scale. */
interface Bucket {
  predicted: BlockSeries;
  held: BlockSeries;
}

interface GainSeries {
  gain: BlockSeries;
  /** The gains that the maker expected. */
  expected: BlockSeries;
}

/** Collects the results of a backtest as sums: memory does not grow with the number of boxes. */
export class Results {
  readonly #blockMs: number;
  /** Scores by maker and kind. */
  readonly #scores = new Map<string, BlockSeries>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #gains = new Map<string, GainSeries>();
  #boxes = 0;

  /** @param blockMs Standard errors are calculated across blocks of this time. */
  constructor(blockMs: number) {
    this.#blockMs = blockMs;
  }

  /** Boxes whose result is known. */
  get boxes(): number {
    return this.#boxes;
  }

  /** Adds a box that has ended. Scores only count boxes for which all makers have a probability. */
  add(trial: Trial, makers: readonly string[]): void {
    this.#boxes += 1;
    const held = trial.isBroken ? 0 : 1;
    const { kind, quotedAtMs } = trial;
    const scored = trial.quotes.every((quote) => quote?.probability !== undefined);
    if (scored) {
      trial.quotes.forEach((quote, maker) => {
        const probability = quote?.probability ?? 0;
        const name = makers[maker]!; // one name per quote
        const score = this.#scores.getOrInsertComputed(keyOf(name, kind), () => this.#series());
        score.add(quotedAtMs, (probability - held) ** 2);
        const index = Math.min(BUCKETS - 1, Math.floor(probability * BUCKETS));
        const bucket = this.#buckets.getOrInsertComputed(
          `${name}|${kind.durationMs}|${index}`,
          () => ({ predicted: this.#series(), held: this.#series() }),
        );
        bucket.predicted.add(quotedAtMs, probability);
        bucket.held.add(quotedAtMs, held);
      });
    }
    for (const { user, execution: { maker, isExecuted, probability } } of trial.bets) {
      const quote = trial.quotes[maker];
      if (!isExecuted || quote?.ratio === undefined) continue;
      const name = makers[maker]!; // one name per quote
      for (const key of [`${user}|${name}`, `${user}|${keyOf(name, kind)}`]) {
        const series = this.#gains.getOrInsertComputed(
          key,
          () => ({ gain: this.#series(), expected: this.#series() }),
        );
        series.gain.add(quotedAtMs, 1 - held * quote.ratio);
        series.expected.add(quotedAtMs, 1 - (probability ?? quote.probability ?? 0) * quote.ratio);
      }
    }
  }

  /** Squared errors of a maker's probabilities over several kinds. */
  scores(maker: string, durationsMs: readonly number[], widths: readonly number[]): BlockSeries {
    return this.merge(
      durationsMs.flatMap((durationMs) =>
        widths.flatMap((width) => this.score(maker, { durationMs, width }) ?? [])
      ),
    );
  }

  /** Squared errors of a maker's probabilities; undefined if it has none. */
  score(maker: string, kind: TrialKind): BlockSeries | undefined {
    return this.#scores.get(keyOf(maker, kind));
  }

  /** Gains per bet of 1, of all kinds or of one. */
  gain(user: string, maker: string, kind?: TrialKind): GainSeries | undefined {
    return this.#gains.get(`${user}|${kind === undefined ? maker : keyOf(maker, kind)}`);
  }

  /** Calibration at one duration, by tenth; undefined for tenths without boxes. */
  bucket(maker: string, durationMs: number, index: number): Bucket | undefined {
    return this.#buckets.get(`${maker}|${durationMs}|${index}`);
  }

  /** The values of several series as one. */
  merge(all: readonly BlockSeries[]): BlockSeries {
    const merged = this.#series();
    all.forEach((series) => merged.addAll(series));
    return merged;
  }

  #series(): BlockSeries {
    return new BlockSeries(this.#blockMs);
  }
}

function keyOf(maker: string, { durationMs, width }: TrialKind): string {
  return `${maker}|${durationMs}|${width}`;
}
