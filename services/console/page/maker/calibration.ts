import type { Metrics } from "../data/metrics.ts";

/** Settled bets whose quoted probability was in one range. */
export interface CalibrationRow {
  /** Such as `60 – 70 %`. */
  range: string;
  settled: number;
  /** Those whose price stayed in the box. */
  held: number;
  /** Mean of the probabilities that were quoted. */
  predicted: number;
  /** The share that is held by chance alone, in 95 of 100 cases. */
  byChance: [from: number, to: number];
}

/** Half of a 95 % confidence band, in standard errors. */
export const BAND = 1.96;

/** Predictions against outcomes, from the solver's figures; unlikely bets first. */
export function calibrationOf(metrics: Metrics): CalibrationRow[] {
  const ranges = new Set(
    metrics.of("solver_predicted_bets_total").map(({ labels }) => labels.predicted ?? ""),
  );
  return [...ranges].sort((a, b) => parseFloat(a) - parseFloat(b)).map((predicted) => {
    const settled = metrics.sum("solver_predicted_bets_total", { predicted }) ?? 0;
    const held = metrics.sum("solver_predicted_bets_total", { predicted, outcome: "held" }) ?? 0;
    const sum = metrics.sum("solver_predicted_probability_sum", { predicted }) ?? 0;
    const [from = 0, to = 0] = predicted.split("-").map((share) => Math.round(100 * Number(share)));
    const mean = sum / settled;
    const half = BAND * Math.sqrt(mean * (1 - mean) / settled);
    const byChance: CalibrationRow["byChance"] = [
      Math.max(0, mean - half),
      Math.min(1, mean + half),
    ];
    return { range: `${from} – ${to} %`, settled, held, predicted: mean, byChance };
  }).filter(({ settled }) => settled > 0);
}

/** With fewer windows a picture shows nothing but chance. */
export const WINDOWS_MIN = 20;

/** Twice what a band of 95 % leaves outside by chance, since boxes of one window share their luck. */
const OUTSIDE_MAX = 0.1;

/** All pictures in one sentence. */
export function verdictOf(outside: number, all: number): string {
  if (all === 0) return `Too early to tell: a forecast is compared after ${WINDOWS_MIN} windows.`;
  const share = outside <= OUTSIDE_MAX * all ? "no more than chance explains" : "more than chance";
  return `${outside} of ${all} probabilities are outside the band of chance: ${share}.`;
}
