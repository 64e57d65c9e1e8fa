import { BUCKETS, type Results } from "./results.ts";
import { USERS } from "./users.ts";

interface ReportPlan {
  makers: readonly string[];
  durationsMs: readonly number[];
  widths: readonly number[];
  /** The makers that the report details, the most important one first. */
  focus: readonly string[];
  /** From the first reported quote to the end of the prices, in milliseconds. */
  spanMs: number;
  /** Standard errors are across blocks of this time. */
  blockMs: number;
}

/** Mean distance of a normal value from its mean, in standard deviations. */
const MEAN_DISTANCE = Math.sqrt(2 / Math.PI);

export type Report = ReturnType<typeof reportOn>;

/** Sums up the results. */
export function reportOn(results: Results, plan: ReportPlan) {
  const { makers, durationsMs, widths } = plan;
  const merged = (maker: string, durations: readonly number[]) =>
    results.scores(maker, durations, widths);
  const rows = [...durationsMs.map((ms) => [ms]), durationsMs];
  return {
    ...plan,
    boxes: results.boxes,
    /** Brier scores by duration and maker; the last row is all durations. */
    scores: rows.map((durations, row) => ({
      durationMs: durationsMs[row],
      byMaker: makers.map((maker) => merged(maker, durations).mean()),
    })),
    /** Scores of each maker minus that of one, by duration as in `scores`. */
    scoresAbove: (maker: string) =>
      rows.map((durations) => {
        const results = merged(maker, durations);
        return makers.map((other) => merged(other, durations).meanLess(results));
      }),
    /** By maker and duration; undefined for all durations. */
    calibration: (maker: string, durationMs?: number) =>
      calibrationOf(results, plan, maker, durationMs),
    /** Mean distance between the observed and predicted shares, over tenths. */
    calibrationError(maker: string, durationMs?: number) {
      const points = calibrationOf(results, plan, maker, durationMs);
      const meanOf = (values: number[]) =>
        values.reduce((sum, value) => sum + value, 0) / points.length;
      return {
        mean: meanOf(points.map(({ difference }) => Math.abs(difference.mean))),
        /** The distance that a correct model has by chance; NaN for fewer than three blocks. */
        chance: MEAN_DISTANCE * meanOf(points.map(({ difference }) => difference.error)),
      };
    },
    /** The gain of each maker from each user, per bet of 1. */
    gains: Object.values(USERS).flatMap((user) =>
      makers.flatMap((maker) => {
        const series = results.gain(user, maker);
        if (series === undefined) return [];
        const { gain, expected } = series;
        return {
          user,
          maker,
          gain: gain.mean(),
          /** Mean gain that the maker expected. */
          expected: expected.mean().mean,
          surprise: gain.meanLess(expected),
        };
      })
    ),
    /** One maker, by duration and width. */
    cells: (maker: string) =>
      durationsMs.flatMap((durationMs) =>
        widths.map((width) => {
          const kind = { durationMs, width };
          const everyone = results.gain(USERS.everyone, maker, kind);
          return {
            ...kind,
            score: results.score(maker, kind)?.mean(),
            everyone: everyone?.gain.mean(),
            expected: everyone?.expected.mean().mean,
            informed: results.gain(USERS.informed, maker, kind)?.gain.mean(),
          };
        })
      ),
  };
}

/** A point for each tenth of the predicted probability; differences are observed minus predicted. */
function calibrationOf(
  results: Results,
  { durationsMs }: ReportPlan,
  maker: string,
  durationMs: number | undefined,
) {
  const durations = durationMs === undefined ? durationsMs : [durationMs];
  return Array.from({ length: BUCKETS }, (_, index) => {
    const buckets = durations.flatMap((ms) => results.bucket(maker, ms, index) ?? []);
    if (buckets.length === 0) return undefined;
    const predicted = results.merge(buckets.map((bucket) => bucket.predicted));
    const held = results.merge(buckets.map((bucket) => bucket.held));
    return {
      predicted: predicted.mean().mean,
      held: held.mean(),
      difference: held.meanLess(predicted),
    };
  }).filter((point) => point !== undefined);
}
