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
  /** `Your bets`, or a market with the length of its windows. */
  of: string;
  predicted: number;
  held: number;
  /** Number of bets or windows with this prediction. */
  count: number;
  /** A difference up to this does not show. */
  hidden: number;
  verdict: "few" | "fits" | "off";
}

/** A forecast before it is judged. */
interface Counted extends Pick<Forecast, "of" | "predicted" | "held" | "count"> {
  /** Standard error of `held`. */
  error: number;
}

/** With fewer bets or windows, a forecast shows only chance. */
export const COUNT_MIN = CALIBRATION.countMin;

/** The rule by which bets and forecasts are judged. */
export const RULE =
  `▲ marks a difference beyond ±, which chance does not explain: more than ${CALIBRATION.errors} standard errors and ${
    100 * CALIBRATION.share
  } points of probability. A smaller mispricing does not show. Boxes of a market that overlap count as ` +
  "ending alike for the time that they share.";

/** Judges a forecast by the bound of the alert. */
export function judge({ error, ...counted }: Counted): Forecast {
  const { predicted, held, count } = counted;
  const hidden = CALIBRATION.errors * error + CALIBRATION.share;
  const isOff = Math.abs(held - predicted) > hidden;
  return { ...counted, hidden, verdict: count < COUNT_MIN ? "few" : isOff ? "off" : "fits" };
}

/** Judges bets, each of which counts by a weight: by its payout, to judge profits. */
export function judgeBets(
  of: string,
  bets: readonly PredictedBet[],
  weightOf: (thesis: Thesis) => number = () => 1,
): Forecast {
  const shareOf = (part: (bet: PredictedBet) => number) =>
    bets.reduce((sum, bet) => sum + part(bet) * weightOf(bet.thesis), 0) / all;
  const all = bets.reduce((sum, { thesis }) => sum + weightOf(thesis), 0);
  return judge({
    of,
    predicted: shareOf(({ probability }) => probability),
    held: shareOf(({ thesis }) => Number(thesis.status === "won")),
    error: deviationOf(bets, weightOf) / all,
    count: bets.length,
  });
}

type Markets = NonNullable<SolverInfo["calibration"]>;

const ORDER = { off: 0, fits: 1, few: 2 };

/** Forecasts of bets by probability, and of each market and length of window: first those that are off, last those of few. */
export function forecastsOf(predicted: readonly PredictedBet[], markets: Markets): Forecast[] {
  const ofMarkets = markets.flatMap(({ symbol, horizons }) =>
    horizons.filter(({ windows }) => windows >= COUNT_MIN)
      .flatMap(({ horizonMs, windows, boxes }) =>
        boxes.map((box) =>
          judge({ of: `${symbol}, ${labelOf(horizonMs)}`, ...box, count: windows })
        )
      )
  );
  // Ranges of ten percent.
  const ranges = Map.groupBy(
    predicted,
    ({ probability }) => Math.min(9, Math.floor(10 * probability)),
  );
  const ofBets = [...ranges].sort(([a], [b]) => a - b).map(([, bets]) =>
    judgeBets("Your bets", bets)
  );
  return [...ofBets, ...ofMarkets].sort((a, b) => ORDER[a.verdict] - ORDER[b.verdict]);
}

/** The largest mispricing that does not show yet. */
export const hiddenText = (hidden: number) =>
  `a mispricing under ${Math.ceil(100 * hidden)} points would not show yet`;

/** Sums up all forecasts in one sentence. */
export function verdictOf(forecasts: readonly Forecast[]): string {
  const looks = forecasts.filter(({ verdict }) => verdict !== "few");
  const off = looks.filter(({ verdict }) => verdict === "off").length;
  if (looks.length === 0) {
    return `Too early to tell: boxes of similar probability are compared from ${COUNT_MIN} bets or ` +
      "windows on.";
  }
  if (off === 0) {
    return `No difference shows; ${hiddenText(Math.max(...looks.map(({ hidden }) => hidden)))}.`;
  }
  return `▲ ${off} of ${looks.length} ${
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
