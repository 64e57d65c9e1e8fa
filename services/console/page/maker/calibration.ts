/** Compares predicted probabilities with what happened to hypothetical boxes. */
import type { SolverInfo } from "@rangemaker/client";
import { CALIBRATION } from "../../../../lib/problems/mod.ts";
import { clamp, counted, spanText } from "../parts/format.ts";

/** A predicted probability, and the share of these boxes that the price did not leave. */
export interface Forecast {
  /** A market with the length of its windows. */
  label: string;
  predicted: number;
  held: number;
  /** Number of windows with this prediction. */
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

/** With fewer windows, a difference shows only chance. */
const COUNT_MIN = CALIBRATION.countMin;

/** How often all bands together contain the true shares. */
const CONFIDENCE = 0.99;

/** The rule by which forecasts are judged. */
export const RULE_TEXT =
  "Held: the price did not leave the box. If all forecasts are right, all bars " +
  `meet the dashed line in ${100 * CONFIDENCE} % of cases; ▲ marks those that miss it. ` +
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
  // One over the number of independent windows that have this error.
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

/** Forecasts of each market and length of window: first those that are off, none of few. */
export function forecastsOf(markets: Markets): Forecast[] {
  const known = markets.flatMap(({ symbol, horizons }) =>
    horizons.filter(({ windows }) => windows >= COUNT_MIN)
      .flatMap(({ horizonMs, windows, boxes }) =>
        boxes.map((box) => ({
          label: `${symbol}, ${spanText(horizonMs)}`,
          ...box,
          count: windows,
        }))
      )
  );
  return known.map((one) => judge(one, known.length))
    .sort((a, b) => Number(b.isOff) - Number(a.isOff));
}

/** Sums up all forecasts in one sentence. */
export function verdictOf(forecasts: readonly Forecast[]): string {
  if (forecasts.length === 0) {
    return `Too early to tell: boxes are compared from ${COUNT_MIN} windows on.`;
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
