import { DailySeries } from "./daily_series.ts";
import type { Offer, Trial, TrialKind } from "./maker.ts";

/** Calibration is shown by tenths of the scale. */
export const BUCKETS = 10;

/** The boxes whose probability lies in one tenth of the scale. */
interface Bucket {
  predicted: DailySeries;
  held: DailySeries;
}

/**
 * Parts of the gain that a maker expects of a bet of 1; they add up to 1 - probability · ratio. The
 * rest of the gain comes from boxes that hold less often than the maker predicted.
 */
export const PARTS = ["margin", "cap", "lead"] as const;

/** @returns The parts in the order of {@link PARTS}. */
export function partsOf(offer: Offer, probability: number): [number, number, number] {
  const { ratio = 0, chargedProbability = offer.probability ?? probability } = offer;
  // If a maker reports no margin, all of its expected gain counts as margin.
  const margin = offer.margin ?? 1 - chargedProbability * ratio;
  const full = (1 - margin) / chargedProbability;
  return [
    margin,
    probability * (full - ratio),
    (1 - margin) * (1 - probability / chargedProbability),
  ];
}

/** The gains of a maker from a user. */
export interface GainSeries {
  gain: DailySeries;
  /** The gains that the maker expected. */
  expected: DailySeries;
  /** In the order of {@link PARTS}. */
  parts: readonly DailySeries[];
}

/** Collects the results of a backtest as daily sums: memory does not grow with the number of boxes. */
export class Results {
  /** Scores by maker and kind. */
  readonly #scores = new Map<string, DailySeries>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #gains = new Map<string, GainSeries>();
  #boxes = 0;

  /** Boxes whose result is known. */
  get boxes(): number {
    return this.#boxes;
  }

  /** Adds a box that has ended. Scores only count boxes for which all makers have a probability. */
  add(trial: Trial, makers: readonly string[]): void {
    this.#boxes += 1;
    const held = trial.isBroken ? 0 : 1;
    const { kind, quotedMs } = trial;
    const scored = trial.offers.every((offer) => offer?.probability !== undefined);
    if (scored) {
      trial.offers.forEach((offer, maker) => {
        const probability = offer?.probability ?? 0;
        const name = makers[maker]!; // one name per offer
        const score = this.#scores.getOrInsertComputed(keyOf(name, kind), () => new DailySeries());
        score.add(quotedMs, (probability - held) ** 2);
        const index = Math.min(BUCKETS - 1, Math.floor(probability * BUCKETS));
        const bucket = this.#buckets.getOrInsertComputed(
          `${name}|${kind.durationMs}|${index}`,
          newBucket,
        );
        bucket.predicted.add(quotedMs, probability);
        bucket.held.add(quotedMs, held);
      });
    }
    for (const { user, maker, probability } of trial.bets) {
      const offer = trial.offers[maker];
      if (offer?.ratio === undefined) continue;
      const gain = 1 - held * offer.ratio;
      const parts = partsOf(offer, probability ?? offer.probability ?? 0);
      const name = makers[maker]!; // one name per offer
      for (const key of [`${user}|${name}`, `${user}|${keyOf(name, kind)}`]) {
        const series = this.#gains.getOrInsertComputed(key, newGains);
        series.gain.add(quotedMs, gain);
        series.expected.add(quotedMs, parts[0] + parts[1] + parts[2]);
        parts.forEach((part, index) => series.parts[index]?.add(quotedMs, part));
      }
    }
  }

  /** Squared errors of a maker's probabilities over several kinds. */
  scores(maker: string, durationsMs: readonly number[], widths: readonly number[]): DailySeries {
    const kinds = durationsMs.flatMap((durationMs) =>
      widths.map((width) => ({ durationMs, width }))
    );
    return DailySeries.merge(kinds.flatMap((kind) => this.score(maker, kind) ?? []));
  }

  /** Squared errors of a maker's probabilities; undefined if it has none. */
  score(maker: string, kind: TrialKind): DailySeries | undefined {
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
}

function keyOf(maker: string, { durationMs, width }: TrialKind): string {
  return `${maker}|${durationMs}|${width}`;
}

function newBucket(): Bucket {
  return { predicted: new DailySeries(), held: new DailySeries() };
}

function newGains(): GainSeries {
  return {
    gain: new DailySeries(),
    expected: new DailySeries(),
    parts: PARTS.map(() => new DailySeries()),
  };
}
