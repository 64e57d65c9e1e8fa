import type { SolverInfo } from "@rangemaker/client";
import { calibrationBand } from "../../../../lib/problems/mod.ts";
import type { Metrics } from "../data/metrics.ts";
import { labelOf } from "../trade/chart_spans.ts";

/** A predicted probability, and how often boxes held for which it was predicted. */
export interface Forecast {
  predicted: number;
  held: number;
  /** Standard error of `held` by chance alone. */
  error: number;
  /** Bets or windows that it was predicted for. */
  count: number;
}

/** Forecasts of one kind of boxes. */
export interface ForecastPicture {
  name: string;
  /** How many boxes there were. */
  size: string;
  /** How many there were of each forecast is shown: they differ. */
  hasCounts?: boolean;
  forecasts: readonly Forecast[];
}

/** With fewer bets or windows a forecast shows nothing but chance. */
export const COUNT_MIN = 20;

/** It has enough bets or windows for a verdict. */
export const isTold = ({ count }: Forecast) => count >= COUNT_MIN;

/** Settled bets first, then each market and length of a window. */
export function picturesOf(
  metrics: Metrics,
  markets: NonNullable<SolverInfo["calibration"]>,
): ForecastPicture[] {
  const bets = forecastsOfBets(metrics);
  const settled = metrics.sum("solver_predicted_bets_total");
  return [
    ...(bets.length === 0
      ? []
      : [{ name: "Your bets", size: `${settled} settled`, hasCounts: true, forecasts: bets }]),
    ...markets.flatMap(({ symbol, horizons }) =>
      horizons.filter(({ windows, boxes }) => windows >= COUNT_MIN && boxes.length > 0)
        .map(({ horizonMs, windows, boxes }) => ({
          name: `${symbol}, ${labelOf(horizonMs)}`,
          size: `${windows.toFixed(0)} windows`,
          forecasts: boxes.map((box) => ({ ...box, count: windows })),
        }))
    ),
  ];
}

/** Quoted probabilities of settled bets in ranges of ten percent; unlikely bets first. */
function forecastsOfBets(metrics: Metrics): Forecast[] {
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

/** The number of forecasts that are told apart from chance together. */
export function looksOf(pictures: readonly ForecastPicture[]): number {
  return pictures.flatMap(({ forecasts }) => forecasts).filter(isTold).length;
}

/** More than chance explains, by the bound of the alert, among so many forecasts. */
export const isOff = (forecast: Forecast, looks: number) =>
  isTold(forecast) &&
  Math.abs(forecast.held - forecast.predicted) > calibrationBand(forecast.error, looks);

/** All pictures in one sentence. */
export function verdictOf(pictures: readonly ForecastPicture[]): string {
  const looks = looksOf(pictures);
  const off = pictures.flatMap(({ forecasts }) => forecasts)
    .filter((forecast) => isOff(forecast, looks)).length;
  if (looks === 0) {
    return `Too early to tell: a market is compared after ${COUNT_MIN} windows, and bets of similar ` +
      `probability once ${COUNT_MIN} of them are settled. Pricing that says no probability, such as ` +
      "mock, is not compared.";
  }
  if (off === 0) return "Chance explains all differences.";
  return `${off} of ${looks} ${off === 1 ? "differs" : "differ"} by more than chance (filled). ` +
    "Above the line, users win more than they pay for; below it, they are paid too little.";
}

/** Ends of the band of chance around what held, as shares, among so many forecasts. */
export function bandOf({ held, error }: Forecast, looks: number): [low: number, high: number] {
  const half = calibrationBand(error, looks);
  return [Math.max(0, held - half), Math.min(1, held + half)];
}

/** What settled bets with a known probability were expected to bring, and what they brought, USDC. */
export interface Earnings {
  bets: number;
  expected: number;
  actual: number;
  stakes: number;
}

/** Since the solver's start; undefined before a bet with a probability is settled. */
export function earningsOf(metrics: Metrics): Earnings | undefined {
  const of = (part: string) => metrics.sum("solver_settled_usdc_total", { part }) ?? 0;
  const [stakes, expected, paid] = ["stakes", "expected", "paid"].map(of) as [
    number,
    number,
    number,
  ]; // as many as parts
  if (stakes === 0) return undefined;
  const bets = metrics.sum("solver_predicted_bets_total") ?? 0;
  return { bets, expected: stakes - expected, actual: stakes - paid, stakes };
}
