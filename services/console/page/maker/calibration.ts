import type { SolverInfo } from "@rangemaker/client";
import { CALIBRATION } from "../../../../lib/problems/mod.ts";
import type { Metrics } from "../data/metrics.ts";

/** A predicted probability, and the share of these boxes that the price did not leave. */
export interface Forecast {
  predicted: number;
  held: number;
  /** Standard error of `held`. */
  error: number;
  /** Number of bets or windows with this prediction. */
  count: number;
  /** The range around `held` that chance explains. */
  low: number;
  high: number;
  verdict: "few" | "fits" | "off";
}

/** A forecast before it is judged. */
type Counted = Omit<Forecast, "low" | "high" | "verdict">;

/** Forecasts of one kind of boxes. */
export interface ForecastPicture {
  /** The market, or `Your bets`. */
  of: string;
  /** Length of the windows of a market. */
  horizonMs?: number;
  count: number;
  forecasts: readonly Forecast[];
}

/** With fewer bets or windows, a forecast shows only chance. */
export const COUNT_MIN = CALIBRATION.countMin;

/** Judges a forecast by the bound of the alert. */
export function judge(counted: Counted): Forecast {
  const { predicted, held, error, count } = counted;
  const half = CALIBRATION.errors * error + CALIBRATION.share;
  const isOff = Math.abs(held - predicted) > half;
  return {
    ...{ ...counted, low: Math.max(0, held - half), high: Math.min(1, held + half) },
    verdict: count < COUNT_MIN ? "few" : isOff ? "off" : "fits",
  };
}

type Markets = NonNullable<SolverInfo["calibration"]>;

/** The forecasts of settled bets first, then of each market and length of window. */
export function picturesOf(metrics: Metrics, markets: Markets): ForecastPicture[] {
  const bets = countedBets(metrics);
  const settled = metrics.sum("solver_predicted_bets_total") ?? 0;
  const pictures = [
    ...(bets.length > 0 ? [{ of: "Your bets", count: settled, boxes: bets }] : []),
    ...markets.flatMap(({ symbol, horizons }) =>
      horizons.filter(({ windows, boxes }) => windows >= COUNT_MIN && boxes.length > 0)
        .map(({ horizonMs, windows, boxes }) => ({
          ...{ of: symbol, horizonMs, count: windows },
          boxes: boxes.map((box) => ({ ...box, count: windows })),
        }))
    ),
  ];
  return pictures.map(({ boxes, ...picture }) => ({ ...picture, forecasts: boxes.map(judge) }));
}

/** The pictures of each market's longest windows, and all pictures with a forecast that is off. */
export function notableOf(pictures: readonly ForecastPicture[]): ForecastPicture[] {
  const longest = new Map(pictures.map((picture) => [picture.of, picture]));
  return pictures.filter((picture) =>
    longest.get(picture.of) === picture ||
    picture.forecasts.some(({ verdict }) => verdict === "off")
  );
}

/** Quoted probabilities of settled bets, in ranges of ten percent, the lowest first. */
function countedBets(metrics: Metrics): Counted[] {
  const ranges = new Set(
    metrics.of("solver_predicted_bets_total").map(({ labels }) => labels.predicted ?? ""),
  );
  return [...ranges].sort((a, b) => parseFloat(a) - parseFloat(b)).flatMap((range) => {
    const count = metrics.sum("solver_predicted_bets_total", { predicted: range }) ?? 0;
    if (count === 0) return [];
    const held = metrics.sum("solver_predicted_bets_total", { predicted: range, outcome: "held" });
    const sum = metrics.sum("solver_predicted_probability_sum", { predicted: range }) ?? 0;
    const predicted = sum / count;
    const error = Math.sqrt(predicted * (1 - predicted) / count);
    return [{ predicted, held: (held ?? 0) / count, error, count }];
  });
}

/** Sums up all pictures in one sentence. */
export function verdictOf(pictures: readonly ForecastPicture[]): string {
  const verdicts = pictures.flatMap(({ forecasts }) => forecasts).map(({ verdict }) => verdict);
  const looks = verdicts.filter((verdict) => verdict !== "few").length;
  const off = verdicts.filter((verdict) => verdict === "off").length;
  if (looks === 0) {
    return `Too early to tell: a market is compared after ${COUNT_MIN} windows, and bets of similar ` +
      `probability once ${COUNT_MIN} of them are settled. Pricing that says no probability, such as ` +
      "mock, is not compared.";
  }
  if (off === 0) return "Chance explains all differences.";
  return `${off} of ${looks} ${off === 1 ? "differs" : "differ"} by more than chance. ` +
    "Above the line, users win more than they pay for; below it, they are paid too little.";
}

/** Expected and actual earnings of settled bets with a known probability, since start, USDC. */
export function earningsOf(metrics: Metrics | undefined) {
  const of = (part: string) => metrics?.sum("solver_settled_usdc_total", { part }) ?? 0;
  return {
    bets: metrics?.sum("solver_predicted_bets_total") ?? 0,
    stakes: of("stakes"),
    expected: of("stakes") - of("expected"),
    actual: of("stakes") - of("paid"),
  };
}

/**
 * Compares expected and actual earnings.
 *
 * @param chance The difference that chance explains, USDC.
 */
export function earningsVerdict(
  { bets, expected, actual }: Omit<ReturnType<typeof earningsOf>, "stakes">,
  chance: number,
): string {
  const surprise = actual - expected;
  if (bets < COUNT_MIN) return "too few bets to tell";
  if (Math.abs(surprise) <= chance) return "chance explains it";
  return `▲ ${surprise < 0 ? "less" : "more"} than chance explains`;
}
