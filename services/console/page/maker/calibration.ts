import type { SolverInfo } from "@rangemaker/client";
import { CALIBRATION } from "../../../../lib/problems/mod.ts";
import { labelOf } from "../trade/chart_spans.ts";
import type { PredictedBet } from "./earnings.ts";

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

/** The forecasts of the maker's bets first, then of each market and length of window. */
export function picturesOf(
  predicted: readonly PredictedBet[],
  markets: Markets,
): ForecastPicture[] {
  const pictures = [
    ...(predicted.length > 0
      ? [{ of: "Your bets", count: predicted.length, boxes: countedBets(predicted) }]
      : []),
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

/** Quoted probabilities of bets, in ranges of ten percent, the lowest first. */
function countedBets(bets: readonly PredictedBet[]): Counted[] {
  const ranges = Map.groupBy(bets, ({ probability }) => Math.min(9, Math.floor(10 * probability)));
  return [...ranges].sort(([a], [b]) => a - b).map(([, bets]) => {
    const count = bets.length;
    const predicted = bets.reduce((sum, { probability }) => sum + probability, 0) / count;
    const held = bets.filter(({ thesis }) => thesis.status === "won").length / count;
    return { predicted, held, error: Math.sqrt(predicted * (1 - predicted) / count), count };
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
  const longestMs = Math.max(
    0,
    ...pictures.filter(({ forecasts }) => forecasts.some(({ verdict }) => verdict !== "few"))
      .map(({ horizonMs = 0 }) => horizonMs),
  );
  const tested = longestMs > 0 ? ` Windows of up to ${labelOf(longestMs)} were compared.` : "";
  if (off === 0) return `Chance explains all differences.${tested}`;
  return `${off} of ${looks} ${off === 1 ? "differs" : "differ"} by more than chance. ` +
    "Above the line, users win more than they pay for; below it, they are paid too little.";
}
