/** Compares predicted probabilities with what happened, for bets and for hypothetical boxes, by one rule. */
import type { SolverInfo, Thesis } from "@rangemaker/client";
import { CALIBRATION } from "../../../../lib/problems/mod.ts";
import { toNumber } from "../format.ts";
import { labelOf } from "../trade/chart_spans.ts";

/** A decided bet with the probability that was quoted for it. */
export interface PredictedBet {
  thesis: Thesis;
  probability: number;
}

/** A predicted probability, and the share of these boxes that the price did not leave. */
export interface Forecast {
  /** The bets of some probabilities, or a market with the length of its windows. */
  of: string;
  predicted: number;
  held: number;
  /** Number of bets or windows with this prediction. */
  count: number;
  /** A difference up to this does not show. */
  hidden: number;
  isOff: boolean;
}

/** A forecast before it is judged. */
interface Counted extends Omit<Forecast, "hidden" | "isOff"> {
  /** Standard error of `held`. */
  error: number;
}

/** With fewer bets or windows, a difference shows only chance. */
export const COUNT_MIN = CALIBRATION.countMin;

/** More standard errors than this are not chance. */
export const ERRORS_MAX = CALIBRATION.errors;

/** How bets are treated that are not independent. */
export const OVERLAP = "Overlapping bets of a market count as ending alike.";

/** The rule by which bets and forecasts are judged. */
export const RULE =
  "Held: the price did not leave the box. ▲ marks a difference beyond ±, which chance does not " +
  `explain: more than ${ERRORS_MAX} standard errors plus ${
    100 * CALIBRATION.share
  } points. ${OVERLAP}`;

/** Judges a forecast by the bound of the alert. */
export function judge({ error, ...counted }: Counted): Forecast {
  const hidden = ERRORS_MAX * error + CALIBRATION.share;
  return { ...counted, hidden, isOff: Math.abs(counted.held - counted.predicted) > hidden };
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
    return judge({
      of: `Your bets, ${from}–${to} %`,
      predicted: shareOf(({ probability }) => probability),
      held: shareOf(({ thesis }) => Number(thesis.status === "won")),
      error: deviationOf(bets, () => 1) / bets.length,
      count: bets.length,
    });
  });
  const ofMarkets = markets.flatMap(({ symbol, horizons }) =>
    horizons.flatMap(({ horizonMs, windows, boxes }) =>
      boxes.map((box) => judge({ of: `${symbol}, ${labelOf(horizonMs)}`, ...box, count: windows }))
    )
  );
  return [...ofBets, ...ofMarkets].filter(({ count }) => count >= COUNT_MIN)
    .sort((a, b) => Number(b.isOff) - Number(a.isOff));
}

/** So many rows that differ in the same direction are worth a word. */
const SAME_MIN = 4;

/** Sums up all forecasts in one sentence. */
export function verdictOf(forecasts: readonly Forecast[]): string {
  if (forecasts.length === 0) {
    return `Too early to tell: boxes of similar probability are compared from ${COUNT_MIN} bets or ` +
      "windows on.";
  }
  const off = forecasts.filter(({ isOff }) => isOff).length;
  if (off === 0) {
    const least = Math.ceil(100 * Math.min(...forecasts.map(({ hidden }) => hidden)));
    const moreHeld = forecasts.filter(({ held, predicted }) => held > predicted).length;
    const all = forecasts.length >= SAME_MIN && [0, forecasts.length].includes(moreHeld)
      ? `, but all rows held ${moreHeld > 0 ? "more" : "less"} often than predicted`
      : "";
    return `No difference is beyond chance${all}; below ${least} points, none can be.`;
  }
  return `▲ ${off} of ${forecasts.length} ${
    off === 1 ? "differs" : "differ"
  } by more than chance: if more held ` +
    "than predicted, users win more than they pay for; if fewer, they are paid too little.";
}

/**
 * Standard deviation of the weight of the bets that are won. Bets of one market are correlated by the
 * share of time that their windows have in common.
 */
export function deviationOf(
  predicted: readonly PredictedBet[],
  weightOf: (thesis: Thesis) => number,
): number {
  const bets = predicted.map(({ thesis, probability }) => ({
    ...thesis,
    deviation: weightOf(thesis) * Math.sqrt(probability * (1 - probability)),
  })).sort((a, b) => a.startTime - b.startTime);
  let variance = 0;
  for (const [index, bet] of bets.entries()) {
    variance += bet.deviation ** 2;
    for (let next = index + 1; next < bets.length; next++) {
      const other = bets[next]!; // below the length
      if (other.startTime >= bet.endTime) break;
      if (other.base !== bet.base || other.quote !== bet.quote) continue;
      const sharedMs = Math.min(bet.endTime, other.endTime) - other.startTime;
      const longerMs = Math.max(bet.endTime - bet.startTime, other.endTime - other.startTime);
      variance += 2 * bet.deviation * other.deviation * sharedMs / longerMs;
    }
  }
  return Math.sqrt(variance);
}

/** The payout, as a weight. */
export const payoutOf = ({ payout }: Thesis) => toNumber(payout);
