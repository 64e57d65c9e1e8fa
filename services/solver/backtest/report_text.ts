import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../lib/time.ts";
import type { BlockMean } from "./block_series.ts";
import type { Report } from "./report.ts";

/** The report as lines for a person. */
export function describeReport(report: Report): string[] {
  const { boxes, spanMs, blockMs, focus } = report;
  return [
    `${boxes} boxes over ${spanText(spanMs)}; ± is a standard error across blocks of ` +
    `${formatDuration(blockMs)}, n/a for fewer than three`,
    "",
    "Brier score (0 is perfect, 0.25 a coin)",
    ...alignColumns(scoreTable(report)),
    "",
    ...focus.flatMap((maker) => [
      `Brier score minus that of ${maker}: above 0, ${maker} is better`,
      ...alignColumns(differenceTable(report, maker)),
      "",
    ]),
    "Calibration error (mean distance between held and predicted shares over tenths), and by chance",
    ...alignColumns(calibrationErrors(report)),
    "",
    ...focus.flatMap((maker) => [
      `Calibration of ${maker}`,
      ...alignColumns(calibrationTable(report, maker)),
      "",
    ]),
    "The maker's gain per bet of 1, and the gain expected by its own probabilities",
    ...alignColumns(gainTable(report)),
    "",
    ...focus.flatMap((maker) => [
      `${maker} by duration and width`,
      ...alignColumns(cellTable(report, maker)),
      "",
    ]),
  ].slice(0, -1);
}

function scoreTable({ makers, scores }: Report): string[][] {
  return [
    ["duration", ...makers],
    ...scores.map(({ durationMs, byMaker }) => [
      rowName(durationMs),
      ...byMaker.map((score) => plain(score.mean, 4)),
    ]),
  ];
}

function differenceTable({ makers, scores, scoresAbove }: Report, maker: string): string[][] {
  const others = makers.filter((other) => other !== maker);
  const rows = scoresAbove(maker);
  return [
    ["duration", ...others],
    ...scores.map(({ durationMs }, row) => [
      rowName(durationMs),
      ...(rows[row] ?? []).filter((_, index) => makers[index] !== maker).map(withError),
    ]),
  ];
}

function calibrationErrors({ makers, scores, calibrationError }: Report): string[][] {
  return [
    ["duration", ...makers.flatMap((maker) => [maker, "chance"])],
    ...scores.map(({ durationMs }) => [
      rowName(durationMs),
      ...makers.flatMap((maker) => {
        const { mean, chance } = calibrationError(maker, durationMs);
        return [plain(mean, 3), plain(chance, 3)];
      }),
    ]),
  ];
}

function calibrationTable(report: Report, maker: string): string[][] {
  return [
    ["predicted", "held", "difference", "±", "boxes"],
    ...report.calibration(maker).map(({ predicted, held, difference }) => [
      predicted.toFixed(3),
      held.mean.toFixed(3),
      signed(difference.mean, 3),
      plain(difference.error, 3),
      String(held.count),
    ]),
  ];
}

function gainTable({ gains }: Report): string[][] {
  return [
    ["user", "maker", "bets", "mean", "±", "expected", "mean minus expected", "±"],
    ...gains.map(({ user, maker, gain, expected, surprise }) => [
      user,
      maker,
      String(gain.count),
      signed(gain.mean),
      plain(gain.error, 4),
      signed(expected),
      signed(surprise.mean),
      plain(surprise.error, 4),
    ]),
  ];
}

function cellTable(report: Report, maker: string): string[][] {
  return [
    [
      "duration",
      "width",
      "Brier",
      "boxes",
      "bets",
      "mean",
      "±",
      "expected",
      "informed bets",
      "mean",
      "±",
    ],
    ...report.cells(maker).map(({ durationMs, width, score, everyone, expected, informed }) => [
      formatDuration(durationMs),
      String(width),
      score?.mean.toFixed(4) ?? "",
      String(score?.count ?? 0),
      ...gainCells(everyone),
      expected === undefined ? "" : signed(expected),
      ...gainCells(informed),
    ]),
  ];
}

function gainCells(gain: BlockMean | undefined): string[] {
  return gain === undefined
    ? ["0", "", ""]
    : [String(gain.count), signed(gain.mean), plain(gain.error, 3)];
}

/** A duration of a report, or all of them. */
export function rowName(durationMs: number | undefined): string {
  return durationMs === undefined ? "all" : formatDuration(durationMs);
}

/** A time in its largest unit, with at most one decimal: `9 minutes`, `1.5 days`. */
export function spanText(ms: number): string {
  const units = [["day", DAY_MS], ["hour", HOUR_MS], ["minute", MINUTE_MS]] as const;
  const [unit, size] = units.find(([, size]) => ms >= size) ?? ["second", 1_000];
  const count = Math.round(10 * ms / size) / 10;
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** A duration in its largest whole unit. */
export function formatDuration(ms: number): string {
  for (const [unit, size] of [["d", DAY_MS], ["h", HOUR_MS], ["m", MINUTE_MS]] as const) {
    if (ms % size === 0) return `${ms / size} ${unit}`;
  }
  return `${ms / 1_000} s`;
}

function withError({ mean, error }: BlockMean): string {
  return `${signed(mean)} ± ${plain(error, 4)}`;
}

/** A number; NaN is a figure without enough data. */
function plain(value: number, decimals: number): string {
  return Number.isNaN(value) ? "n/a" : value.toFixed(decimals);
}

function signed(value: number, decimals = 4): string {
  return `${value >= 0 ? "+" : ""}${plain(value, decimals)}`;
}

/** Rows as columns: text to the left, numbers to the right. */
function alignColumns(rows: readonly string[][]): string[] {
  const [head = [], ...body] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const isText = head.map((_, column) => body.every((row) => !/^[+-]?\d/.test(row[column] ?? "")));
  return rows.map((row) =>
    row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 || isText[column] ? cell.padEnd(width) : cell.padStart(width);
    }).join("  ").trimEnd()
  );
}
