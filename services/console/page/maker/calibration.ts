import type { SolverInfo, Thesis } from "@rangemaker/client";
import { CALIBRATION } from "../../../../lib/problems/mod.ts";
import { isDecided } from "../data/live_breaches.ts";
import { gainOf } from "../data/results.ts";
import { toNumber } from "../format.ts";
import { labelOf } from "../trade/chart_spans.ts";

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

/** A decided bet with the probability that was quoted for it. */
export interface PredictedBet {
  thesis: Thesis;
  probability: number;
}

/**
 * The decided bets with a known probability whose window was over at a time. Bets that are lost early
 * would otherwise be counted before those that may still be won.
 */
export function predictedBets(
  theses: readonly Thesis[],
  probabilities: ReadonlyMap<string, number>,
  timeMs: number,
): PredictedBet[] {
  return theses.flatMap((thesis) => {
    const probability = probabilities.get(thesis.quoteHash);
    const isOver = isDecided(thesis) && thesis.endTime <= timeMs;
    return isOver && probability !== undefined ? [{ thesis, probability }] : [];
  });
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

const expectedOf = ({ thesis: { betAmount, payout }, probability }: PredictedBet) =>
  toNumber(betAmount) - probability * toNumber(payout);

/** What the open bets should bring by their quoted probabilities, USDC; undefined unless all are known. */
export function expectedOfOpen(
  theses: readonly Thesis[],
  probabilities: ReadonlyMap<string, number>,
): number | undefined {
  const open = theses.filter((thesis) => !isDecided(thesis));
  const known = open.flatMap((thesis) => {
    const probability = probabilities.get(thesis.quoteHash);
    return probability === undefined ? [] : [{ thesis, probability }];
  });
  if (open.length === 0 || known.length < open.length) return undefined;
  return known.reduce((sum, bet) => sum + expectedOf(bet), 0);
}

/** What the maker expected of its bets and what they brought, USDC. */
export function earningsOf(predicted: readonly PredictedBet[]) {
  const sumOf = (part: (bet: PredictedBet) => number) =>
    predicted.reduce((sum, bet) => sum + part(bet), 0);
  return {
    bets: predicted.length,
    stakes: sumOf(({ thesis }) => toNumber(thesis.betAmount)),
    expected: sumOf(expectedOf),
    actual: sumOf(({ thesis }) => toNumber(gainOf(thesis))),
    chance: chanceOf(predicted),
  };
}

/**
 * Two standard deviations of the profit from bets, USDC: if their outcomes are independent, and if
 * windows of one market end alike as far as they overlap. The truth lies between.
 */
export function chanceOf(predicted: readonly PredictedBet[]) {
  const bets = predicted.map(({ thesis, probability }) => ({
    ...thesis,
    deviation: toNumber(thesis.payout) * Math.sqrt(probability * (1 - probability)),
  })).sort((a, b) => a.startTime - b.startTime);
  let [alone, shared] = [0, 0];
  for (const [index, bet] of bets.entries()) {
    alone += bet.deviation ** 2;
    for (let next = index + 1; next < bets.length; next++) {
      const other = bets[next]!; // below the length
      if (other.startTime >= bet.endTime) break;
      if (other.base !== bet.base || other.quote !== bet.quote) continue;
      const sharedMs = Math.min(bet.endTime, other.endTime) - other.startTime;
      const longerMs = Math.max(bet.endTime - bet.startTime, other.endTime - other.startTime);
      shared += 2 * bet.deviation * other.deviation * sharedMs / longerMs;
    }
  }
  return { independent: 2 * Math.sqrt(alone), together: 2 * Math.sqrt(alone + shared) };
}

/** Compares expected and actual earnings. */
export function earningsVerdict(
  { bets, expected, actual, chance }: Omit<ReturnType<typeof earningsOf>, "stakes">,
): string {
  const surprise = actual - expected;
  if (bets < COUNT_MIN) return "Too few bets to tell";
  if (Math.abs(surprise) <= chance.independent) return "chance explains it";
  if (Math.abs(surprise) <= chance.together) return "chance may explain it, since windows overlap";
  return `▲ ${surprise < 0 ? "less" : "more"} than chance explains`;
}
