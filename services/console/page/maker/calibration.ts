import type { SolverInfo } from "@rangemaker/client";
import { CALIBRATION } from "../../../../lib/problems/mod.ts";
import { labelOf } from "../trade/chart_spans.ts";
import type { PredictedBet } from "./earnings.ts";

/** A predicted probability, and the share of these boxes that the price did not leave. */
export interface Forecast {
  /** `Your bets`, or a market with the length of its windows. */
  of: string;
  predicted: number;
  held: number;
  /** Number of bets or windows with this prediction. */
  count: number;
  /** The range around `predicted` that chance explains. */
  low: number;
  high: number;
  verdict: "few" | "fits" | "off";
}

/** A forecast before it is judged. */
interface Counted extends Pick<Forecast, "of" | "predicted" | "held" | "count"> {
  /** Standard error of `held`. */
  error: number;
}

/** With fewer bets or windows, a forecast shows only chance. */
const COUNT_MIN = CALIBRATION.countMin;

/** Judges a forecast by the bound of the alert. */
export function judge({ error, ...counted }: Counted): Forecast {
  const { predicted, held, count } = counted;
  const half = CALIBRATION.errors * error + CALIBRATION.share;
  const isOff = Math.abs(held - predicted) > half;
  return {
    ...{ ...counted, low: Math.max(0, predicted - half), high: Math.min(1, predicted + half) },
    verdict: count < COUNT_MIN ? "few" : isOff ? "off" : "fits",
  };
}

type Markets = NonNullable<SolverInfo["calibration"]>;

/** The forecasts of the maker's bets, then of each market and length of window; first those that are off. */
export function forecastsOf(predicted: readonly PredictedBet[], markets: Markets): Forecast[] {
  const ofMarkets = markets.flatMap(({ symbol, horizons }) =>
    horizons.filter(({ windows }) => windows >= COUNT_MIN)
      .flatMap(({ horizonMs, windows, boxes }) =>
        boxes.map((box) => ({ of: `${symbol}, ${labelOf(horizonMs)}`, ...box, count: windows }))
      )
  );
  const all = [...countedBets(predicted), ...ofMarkets].map(judge);
  return all.sort((a, b) => Number(b.verdict === "off") - Number(a.verdict === "off"));
}

/** Quoted probabilities of bets, in ranges of ten percent, the lowest first. */
function countedBets(bets: readonly PredictedBet[]): Counted[] {
  const ranges = Map.groupBy(bets, ({ probability }) => Math.min(9, Math.floor(10 * probability)));
  return [...ranges].sort(([a], [b]) => a - b).map(([, bets]) => {
    const count = bets.length;
    const predicted = bets.reduce((sum, { probability }) => sum + probability, 0) / count;
    const held = bets.filter(({ thesis }) => thesis.status === "won").length / count;
    const error = Math.sqrt(predicted * (1 - predicted) / count);
    return { of: "Your bets", predicted, held, error, count };
  });
}

/** Sums up all forecasts in one sentence. */
export function verdictOf(forecasts: readonly Forecast[]): string {
  const looks = forecasts.filter(({ verdict }) => verdict !== "few").length;
  const off = forecasts.filter(({ verdict }) => verdict === "off").length;
  if (looks === 0) {
    return `Too early to tell: boxes of similar probability are compared from ${COUNT_MIN} bets or ` +
      "windows on.";
  }
  if (off === 0) return "Chance explains all differences.";
  return `▲ ${off} of ${looks} ${
    off === 1 ? "differs" : "differ"
  } by more than chance: if more held ` +
    "than predicted, users win more than they pay for; if fewer, they are paid too little.";
}
