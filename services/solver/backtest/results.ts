import { DailySeries } from "./daily_series.ts";
import type { Trial, TrialKind } from "./maker.ts";

/** Calibration is shown by tenths of the scale. */
export const BUCKETS = 10;

/** The boxes whose probability lies in one tenth of the scale. */
export interface Bucket {
  predicted: DailySeries;
  held: DailySeries;
}

/** Collects the results of a backtest as daily sums: memory does not grow with the number of boxes. */
export class Results {
  /** Scores by maker and kind. */
  readonly #scores = new Map<string, DailySeries>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #gains = new Map<string, DailySeries>();
  #boxes = 0;

  /** Boxes whose result is known. */
  get boxes(): number {
    return this.#boxes;
  }

  /** Adds a box that has ended. Scores only count boxes for which all makers have a probability. */
  add(trial: Trial, makers: readonly string[]): void {
    this.#boxes += 1;
    const held = trial.broken ? 0 : 1;
    const { kind, quotedMs } = trial;
    const scored = trial.offers.every((offer) => offer?.probability !== undefined);
    if (scored) {
      trial.offers.forEach((offer, index) => {
        const probability = offer?.probability ?? 0;
        const name = makers[index]!; // one name per offer
        seriesOf(this.#scores, keyOf(name, kind)).add(quotedMs, (probability - held) ** 2);
        const { predicted, held: outcomes } = this.#bucketOf(name, kind.durationMs, probability);
        predicted.add(quotedMs, probability);
        outcomes.add(quotedMs, held);
      });
    }
    for (const { user, maker } of trial.bets) {
      const gain = 1 - held * (trial.offers[maker]?.ratio ?? 0);
      const name = makers[maker]!; // one name per offer
      seriesOf(this.#gains, `${user}|${name}`).add(quotedMs, gain);
      seriesOf(this.#gains, `${user}|${keyOf(name, kind)}`).add(quotedMs, gain);
    }
  }

  /** Squared errors of a maker's probabilities; undefined where there are none. */
  score(maker: string, kind: TrialKind): DailySeries | undefined {
    return this.#scores.get(keyOf(maker, kind));
  }

  /** Gains per bet of 1, of all kinds or of one. */
  gain(user: string, maker: string, kind?: TrialKind): DailySeries | undefined {
    return this.#gains.get(`${user}|${kind === undefined ? maker : keyOf(maker, kind)}`);
  }

  /** Calibration at one duration, by tenth; undefined for tenths without boxes. */
  bucket(maker: string, durationMs: number, index: number): Bucket | undefined {
    return this.#buckets.get(`${maker}|${durationMs}|${index}`);
  }

  #bucketOf(maker: string, durationMs: number, probability: number): Bucket {
    const index = Math.min(BUCKETS - 1, Math.floor(probability * BUCKETS));
    const key = `${maker}|${durationMs}|${index}`;
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { predicted: new DailySeries(), held: new DailySeries() };
      this.#buckets.set(key, bucket);
    }
    return bucket;
  }
}

function keyOf(maker: string, { durationMs, width }: TrialKind): string {
  return `${maker}|${durationMs}|${width}`;
}

function seriesOf(map: Map<string, DailySeries>, key: string): DailySeries {
  let series = map.get(key);
  if (series === undefined) map.set(key, series = new DailySeries());
  return series;
}
