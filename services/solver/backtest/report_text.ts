import type { DailyMean } from "./daily_series.ts";
import type { Report } from "./report.ts";

/** What the models of every backtest are, by their names in the tables. */
const MODELS: Readonly<Record<string, string>> = {
  barrier: "--pricing barrier",
  mock: "--pricing mock",
  "terminal only": "looks at the price at the end of the window only",
  "base rate": "how often boxes of the same duration and width held so far",
  "HAR, fitted": "a forecast of volatility from that of the last day, fitted to the first part",
};

/** The report as lines for a person; every ± is a standard error by days. */
export function describeReport(report: Report): string[] {
  return [
    `${report.boxes} boxes over ${report.days} ${report.days === 1 ? "day" : "days"}; ` +
    "± is a standard error by days",
    "",
    "Models",
    ...report.makers.map((maker) =>
      `  ${maker.padEnd(widthOf(report.makers))}  ${MODELS[maker] ?? "the strategy of --strategy"}`
    ),
    "",
    "Brier score (0 is perfect, 0.25 a coin); the gain is over the model beside it",
    ...aligned(scoreTable(report)),
    "",
    ...[report.compared, report.focus].flatMap((maker) => [
      `Calibration of ${maker}`,
      ...aligned(calibrationTable(report, maker)),
      "",
    ]),
    "The maker's gain per bet of 1",
    ...aligned(gainTable(report)),
    "",
    `${report.focus} by duration and width`,
    ...aligned(cellTable(report)),
  ];
}

function scoreTable({ makers, scores, focus, compared }: Report): string[][] {
  return [
    ["duration", ...makers, `${compared} less ${focus}`],
    ...scores.map(({ durationMs, byMaker, gain }) => [
      durationMs === undefined ? "all" : formatDuration(durationMs),
      ...byMaker.map((score) => score?.mean.toFixed(4) ?? ""),
      withError(gain),
    ]),
  ];
}

function calibrationTable(report: Report, maker: string): string[][] {
  return [
    ["predicted", "held", "±", "boxes"],
    ...report.calibration(maker).map(({ predicted, held }) => [
      predicted.toFixed(3),
      held.mean.toFixed(3),
      errorText(held.error, 3),
      String(held.count),
    ]),
  ];
}

function gainTable({ gains }: Report): string[][] {
  return [
    ["user", "maker", "bets", "mean", "±", "deviation", "losing days", "worst day", "drawdown"],
    ...gains.map(({ user, maker, path }) => [
      user,
      maker,
      String(path.count),
      signed(path.mean),
      errorText(path.error, 4),
      path.deviation.toFixed(2),
      `${Math.round(100 * path.losingDays)} %`,
      path.worstDay.toFixed(0),
      path.drawdown.toFixed(0),
    ]),
  ];
}

function cellTable({ cells }: Report): string[][] {
  return [
    ["duration", "width", "Brier", "boxes", "bets", "mean", "±", "informed bets", "mean", "±"],
    ...cells.map(({ durationMs, width, score, everyone, informed }) => [
      formatDuration(durationMs),
      String(width),
      score?.mean.toFixed(4) ?? "",
      String(score?.count ?? 0),
      ...gainCells(everyone),
      ...gainCells(informed),
    ]),
  ];
}

function gainCells(path: DailyMean | undefined): string[] {
  return path === undefined
    ? ["0", "", ""]
    : [String(path.count), signed(path.mean), errorText(path.error, 3)];
}

function widthOf(words: readonly string[]): number {
  return Math.max(...words.map((word) => word.length));
}

/** A duration in its largest whole unit. */
export function formatDuration(ms: number): string {
  for (const [unit, size] of [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000]] as const) {
    if (ms % size === 0) return `${ms / size} ${unit}`;
  }
  return `${ms / 1_000} s`;
}

function withError({ mean, error }: DailyMean): string {
  return `${signed(mean)} ± ${errorText(error, 4)}`;
}

/** Fewer than three days have no error. */
function errorText(error: number, decimals: number): string {
  return Number.isNaN(error) ? "n/a" : error.toFixed(decimals);
}

function signed(value: number): string {
  return `${value < 0 ? "" : "+"}${value.toFixed(4)}`;
}

/** Rows as columns: text to the left, numbers to the right. */
function aligned(rows: readonly string[][]): string[] {
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
