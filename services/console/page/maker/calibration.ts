/**
 * Compares predicted probabilities with what happened, for bets and for hypothetical boxes, by one
 * rule.
 */
import type { SolverInfo, Thesis } from "@rangemaker/client";
import { CALIBRATION } from "../../../../lib/problems/mod.ts";
import { clamp, counted, toNumber } from "../parts/format.ts";
import { labelOf } from "../trade/chart_spans.ts";

/** A decided bet with the probability that was quoted for it. */
export interface PredictedBet {
  thesis: Thesis;
  probability: number;
}

/** A predicted probability, and the share of these boxes that the price did not leave. */
export interface Forecast {
  /** The bets of some probabilities, or a market with the length of its windows. */
  label: string;
  isOfBets: boolean;
  predicted: number;
  held: number;
  /** Number of bets or windows with this prediction. */
  count: number;
  /** The band in which the true share lies. */
  low: number;
  high: number;
  isOff: boolean;
}

interface UnjudgedForecast extends Omit<Forecast, "low" | "high" | "isOff"> {
  /** Standard error of `held` if the prediction is right. */
  error: number;
}

/** With fewer bets or windows, a difference shows only chance. */
export const COUNT_MIN = CALIBRATION.countMin;

/** How often all bands together contain the true shares. */
const CONFIDENCE = 0.99;

/** How bets are treated that are not independent. */
export const OVERLAP_TEXT = "Overlapping bets of a market count as ending alike.";

/** The rule by which bets and forecasts are judged. */
export const RULE_TEXT =
  "Held: the price did not leave the box. If all forecasts are right, all bars " +
  `meet the dashed line in ${
    100 * CONFIDENCE
  } % of cases; ▲ marks those that miss it. ${OVERLAP_TEXT} ` +
  "Hypothetical boxes show the model without `--volatility-floor`.";

/**
 * How many standard errors a normal value differs in this share of cases (Abramowitz and Stegun
 * 26.2.23).
 */
function standardErrorsFor(share: number): number {
  const t = Math.sqrt(-2 * Math.log(share / 2));
  return t - (2.515517 + 0.802853 * t + 0.010328 * t ** 2) /
      (1 + 1.432788 * t + 0.189269 * t ** 2 + 0.001308 * t ** 3);
}

/**
 * Judges one of some forecasts, by the band of Wilson's score interval with a correction for whole
 * counts, so that all bands together contain the true shares.
 */
export function judge({ error, ...forecast }: UnjudgedForecast, forecasts: number): Forecast {
  const { predicted, held } = forecast;
  // One over the number of independent bets that have this error.
  const one = error === 0 ? 0 : error ** 2 / (predicted * (1 - predicted));
  const weight = standardErrorsFor((1 - CONFIDENCE) / forecasts) ** 2 * one;
  const [low = 0, high = 1] = [-1, 1].map((side) => {
    const end = clamp(held + side * one / 2, 0, 1);
    const reach = Math.sqrt(weight * end * (1 - end) + weight ** 2 / 4);
    return (end + weight / 2 + side * reach) / (1 + weight);
  });
  return { ...forecast, low, high, isOff: predicted < low || predicted > high };
}

type Markets = NonNullable<SolverInfo["calibration"]>;

/** Ranges of probability by which bets are compared. */
const RANGES = 4;

/**
 * Forecasts of bets by probability, and of each market and length of window: first those that are
 * off, none of few.
 */
export function forecastsOf(predicted: readonly PredictedBet[], markets: Markets): Forecast[] {
  const ranges = Map.groupBy(
    predicted,
    ({ probability }) => Math.min(RANGES - 1, Math.floor(RANGES * probability)),
  );
  const ofBets = [...ranges].sort(([a], [b]) => a - b).map(([range, bets]) => {
    const shareOf = (part: (bet: PredictedBet) => number) =>
      bets.reduce((sum, bet) => sum + part(bet), 0) / bets.length;
    const [from, to] = [range, range + 1].map((end) => 100 * end / RANGES);
    return {
      label: `Your bets, ${from}–${to} %`,
      isOfBets: true,
      predicted: shareOf(({ probability }) => probability),
      held: shareOf(({ thesis }) => Number(thesis.status === "won")),
      error: deviationOf(bets, () => 1) / bets.length,
      count: bets.length,
    };
  });
  const ofMarkets = markets.flatMap(({ symbol, horizons }) =>
    horizons.flatMap(({ horizonMs, windows, boxes }) =>
      boxes.map((box) => ({
        label: `${symbol}, ${labelOf(horizonMs)}`,
        isOfBets: false,
        ...box,
        count: windows,
      }))
    )
  );
  const known: UnjudgedForecast[] = [...ofBets, ...ofMarkets].filter(({ count }) =>
    count >= COUNT_MIN
  );
  return known.map((one) => judge(one, known.length))
    .sort((a, b) => Number(b.isOff) - Number(a.isOff));
}

/** Sums up all forecasts in one sentence. */
export function verdictOf(forecasts: readonly Forecast[]): string {
  if (forecasts.length === 0) {
    return `Too early to tell: boxes of similar probability are compared from ${COUNT_MIN} bets or ` +
      "windows on.";
  }
  const off = forecasts.filter(({ isOff }) => isOff).length;
  if (off > 0) {
    return `▲ ${off} of ${counted(forecasts.length, "bar")} ${off === 1 ? "misses" : "miss"} the ` +
      "dashed line, which is more than chance: above it, users win more than they pay for; below " +
      "it, they are paid too little.";
  }
  const least = Math.min(...forecasts.map(({ low, high }) => (high - low) / 2));
  return "No bar misses the dashed line. Differences below " +
    `${Math.ceil(100 * least)} points do not show yet.`;
}

/**
 * Standard deviation of the weight of the bets that are won. Bets of one market are correlated by the
 * share of time that their windows have in common.
 */
export function deviationOf(
  predicted: readonly PredictedBet[],
  weightOf: (thesis: Thesis) => number,
): number {
  const byMarket = Map.groupBy(predicted, ({ thesis: { base, quote } }) => base + quote);
  const variances = [...byMarket.values()].map((bets) => varianceOf(bets, weightOf));
  return Math.sqrt(variances.reduce((sum, variance) => sum + variance, 0));
}

/**
 * The variance of bets of one market. Numbers stand in arrays of their own: with thousands of long
 * bets there are millions of pairs, and the page shall not stand still.
 */
function varianceOf(
  predicted: readonly PredictedBet[],
  weightOf: (thesis: Thesis) => number,
): number {
  const bets = predicted.toSorted((a, b) => a.thesis.startTime - b.thesis.startTime);
  const starts = Float64Array.from(bets, ({ thesis }) => thesis.startTime);
  const ends = Float64Array.from(bets, ({ thesis }) => thesis.endTime);
  const deviations = Float64Array.from(
    bets,
    ({ thesis, probability }) => weightOf(thesis) * Math.sqrt(probability * (1 - probability)),
  );
  let variance = 0;
  for (let index = 0; index < bets.length; index++) {
    const [start, end, deviation] = [starts[index]!, ends[index]!, deviations[index]!];
    let covariance = 0;
    for (let next = index + 1; next < bets.length && starts[next]! < end; next++) {
      const [otherStart, otherEnd] = [starts[next]!, ends[next]!];
      const sharedMs = Math.min(end, otherEnd) - otherStart;
      const longerMs = Math.max(end - start, otherEnd - otherStart);
      covariance += deviations[next]! * sharedMs / longerMs;
    }
    variance += deviation * (deviation + 2 * covariance);
  }
  return variance;
}

/** The payout, as a weight. */
export const payoutOf = ({ payout }: Thesis) => toNumber(payout);
