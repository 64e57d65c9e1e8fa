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
}

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
    return { range: `${from} – ${to} %`, settled, held, predicted: sum / settled };
  }).filter(({ settled }) => settled > 0);
}
