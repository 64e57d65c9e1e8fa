import { type DailyMean, type DailyPath, DailySeries } from "./daily_series.ts";
import { BUCKETS, type Results } from "./results.ts";
import { USERS } from "./users.ts";

/** The plan and data of a report. */
export interface ReportPlan {
  makers: readonly string[];
  durationsMs: readonly number[];
  widths: readonly number[];
  /** The maker in focus, and its comparison. */
  focus: string;
  compared: string;
}

/** One point of a calibration: the predicted probability, and the share of boxes that held. */
export interface CalibrationPoint {
  predicted: number;
  held: DailyMean;
}

/** The results of a backtest. */
export interface Report extends ReportPlan {
  boxes: number;
  days: number;
  /** Brier scores by duration and maker; the last row is all durations. */
  scores: { durationMs: number | undefined; byMaker: (DailyMean | undefined)[]; gain: DailyMean }[];
  /** By maker and duration; undefined for all durations. */
  calibration(maker: string, durationMs?: number): CalibrationPoint[];
  /** Earnings of makers per bet of 1, by user. */
  gains: { user: string; maker: string; path: DailyPath }[];
  /** The maker in focus by duration and width. */
  cells: {
    durationMs: number;
    width: number;
    score: DailyMean | undefined;
    everyone: DailyPath | undefined;
    informed: DailyPath | undefined;
  }[];
}

/** Sums up the results. */
export function reportOn(results: Results, plan: ReportPlan): Report {
  const { makers, durationsMs, widths, focus, compared } = plan;
  const merged = (maker: string, durations: readonly number[]) =>
    DailySeries.merge(durations.flatMap((durationMs) =>
      widths.flatMap((width) => {
        const series = results.score(maker, { durationMs, width });
        return series === undefined ? [] : [series];
      })
    ));
  const scoreRow = (durations: readonly number[], durationMs?: number) => ({
    durationMs,
    byMaker: makers.map((maker) => merged(maker, durations).mean()),
    gain: merged(compared, durations).meanLess(merged(focus, durations)),
  });
  const all = merged(focus, durationsMs).mean();
  return {
    ...plan,
    boxes: results.boxes,
    days: all.days,
    scores: [...durationsMs.map((ms) => scoreRow([ms], ms)), scoreRow(durationsMs)],
    calibration: (maker, durationMs) => calibrationOf(results, plan, maker, durationMs),
    gains: Object.values(USERS).flatMap((user) =>
      makers.flatMap((maker) => {
        const path = results.gain(user, maker)?.path();
        return path === undefined ? [] : [{ user, maker, path }];
      })
    ),
    cells: durationsMs.flatMap((durationMs) =>
      widths.map((width) => {
        const kind = { durationMs, width };
        return {
          durationMs,
          width,
          score: results.score(focus, kind)?.mean(),
          everyone: results.gain(USERS.everyone, focus, kind)?.path(),
          informed: results.gain(USERS.informed, focus, kind)?.path(),
        };
      })
    ),
  };
}

function calibrationOf(
  results: Results,
  { durationsMs }: ReportPlan,
  maker: string,
  durationMs: number | undefined,
): CalibrationPoint[] {
  const durations = durationMs === undefined ? durationsMs : [durationMs];
  return Array.from({ length: BUCKETS }, (_, index) => {
    const buckets = durations.flatMap((ms) => results.bucket(maker, ms, index) ?? []);
    if (buckets.length === 0) return undefined;
    return {
      predicted: DailySeries.merge(buckets.map(({ predicted }) => predicted)).mean().mean,
      held: DailySeries.merge(buckets.map(({ held }) => held)).mean(),
    };
  }).filter((point) => point !== undefined);
}
