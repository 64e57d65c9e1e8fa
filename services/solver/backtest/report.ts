import type { TriedBox } from "./boxes.ts";
import {
  brierScore,
  type Bucket,
  bucketsOf,
  gainOf,
  isWorthIt,
  type Payer,
} from "./calibration.ts";

/** The maker's gain against one kind of user. */
export interface Result {
  bets: number;
  /** In bets of 1. */
  gain: number;
}

/** What a backtest found. */
export interface Report {
  boxes: number;
  buckets: Bucket[];
  brier: number;
  /** Against a user who bets on every box. */
  everyBox: Record<Payer, Result>;
  /** Against a user who knows the model, and bets where the payout is worth more than the bet. */
  worthIt: Record<Payer, Result>;
}

/** Sums up the boxes of a backtest; there is at least one. */
export function reportOn(boxes: readonly TriedBox[]): Report {
  const against = (takes: (box: TriedBox, payer: Payer) => boolean) => {
    const result = (payer: Payer): Result => {
      const taken = boxes.filter((box) => takes(box, payer));
      return { bets: taken.length, gain: taken.reduce((sum, box) => sum + gainOf(box, payer), 0) };
    };
    return { mock: result("mock"), barrier: result("barrier") };
  };
  return {
    boxes: boxes.length,
    buckets: bucketsOf(boxes),
    brier: brierScore(boxes),
    everyBox: against(() => true),
    worthIt: against(isWorthIt),
  };
}

/** The report as lines for a person. */
export function describeReport(report: Report): string[] {
  const head = ["probability", "boxes", "predicted", "held", "+-", "mock gain", "barrier gain"];
  const rows = report.buckets.map((bucket) => [
    `${bucket.from.toFixed(1)} to ${(bucket.from + 0.1).toFixed(1)}`,
    String(bucket.boxes),
    bucket.predicted.toFixed(4),
    bucket.observed.toFixed(4),
    bucket.samplingError.toFixed(4),
    signed(bucket.gain.mock),
    signed(bucket.gain.barrier),
  ]);
  return [
    "Calibration of the model, and the maker's mean gain on a bet of 1",
    ...aligned([head, ...rows]),
    "",
    `Brier score ${
      report.brier.toFixed(4)
    } over ${report.boxes} boxes (0 is a prophet, 0.25 a coin)`,
    "",
    "The maker's gain, in bets of 1",
    ...aligned([
      ["user", "mock bets", "mock gain", "barrier bets", "barrier gain"],
      resultRow("bets on every box", report.everyBox),
      resultRow("bets where it pays by the model", report.worthIt),
    ]),
  ];
}

function resultRow(user: string, { mock, barrier }: Record<Payer, Result>): string[] {
  return [user, String(mock.bets), signed(mock.gain), String(barrier.bets), signed(barrier.gain)];
}

function signed(value: number): string {
  return `${value < 0 ? "" : "+"}${value.toFixed(4)}`;
}

/** Rows as columns: the first to the left, the others to the right. */
function aligned(rows: readonly string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0))
  );
  return rows.map((row) =>
    row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    }).join("  ")
  );
}
