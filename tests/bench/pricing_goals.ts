/**
 * The goals of the model for files of candles, or without them for simulated markets that no
 * constant was chosen on. Other arguments are options of the backtest. A box every 31 minutes sees
 * every minute of the hour; minutes differ. Run with `deno run --allow-read --allow-env
 * tests/bench/pricing_goals.ts [candles.csv …]`.
 */
import { basename } from "node:path";
import { parseOptions } from "../../lib/cli/options.ts";
import { seededRandom } from "../../lib/random.ts";
import type { BlockMean } from "../../services/solver/backtest/block_series.ts";
import { backtest } from "../../services/solver/backtest/command.ts";
import { planOptions } from "../../services/solver/backtest/options.ts";
import type { Report } from "../../services/solver/backtest/report.ts";
import { formatDuration, rowName, spanText } from "../../services/solver/backtest/report_text.ts";
import { USERS } from "../../services/solver/backtest/users.ts";
import type { Candle } from "../../services/solver/pricing/candle.ts";
import { SIMULATED_MARKETS, simulatedCandles } from "../solver/pricing/simulated_markets.ts";
import { bridgedSlots } from "./pricing/candle_bridge.ts";
import { HarModel } from "./pricing/har.ts";

const MODEL = "barrier";
const RIVAL = "HAR, fitted";
const SIMULATED_DAYS = 20;

/** Boxes of a minute to a day, since candles do not decide shorter ones. */
const DEFAULTS = [
  ["--durations-ms", "60000,300000,900000,3600000,14400000,86400000"],
  ["--step-ms", "1860000"],
];

/** HAR is fitted on this share of the first part, and recalibrated on the rest of it. */
const FIT_SHARE = 0.6;

const files = Deno.args.filter((argument) => argument.endsWith(".csv"));
const rest = Deno.args.filter((argument) => !files.includes(argument));
const defaults = DEFAULTS.filter(([flag]) => !rest.some((one) => one.split("=")[0] === flag));
const text = { name: "pricing_goals", description: "", examples: [] };
const settings = parseOptions(text, planOptions, [...defaults.flat(), ...rest], () => undefined);

/** The rows `time_ms,open,high,low,close` of a file, one a minute; prices get 6 decimals. */
function candlesOf(path: string): Candle[] {
  const [, ...rows] = Deno.readTextFileSync(path).trimEnd().split("\n");
  return rows.map((row) => {
    const [timeMs, ...prices] = row.split(",").map(Number);
    const [open, high, low, close] = prices.map((price) => Math.round(price * 1e6));
    return { timeMs, durationMs: 60_000, open, high, low, close } as Candle; // five columns
  });
}

function simulated(name: string): Candle[] {
  const market = SIMULATED_MARKETS[name]!; // by its name
  return [...simulatedCandles(seededRandom(2), market, SIMULATED_DAYS * 1_440)];
}

async function report(candles: readonly Candle[]): Promise<Report> {
  const source = bridgedSlots(candles, 1);
  const firstPartMs = settings.learningShare * (source.toMs - source.fromMs);
  const har = new HarModel(settings.margin, settings.durationsMs, {
    fitUntilMs: source.fromMs + FIT_SHARE * firstPartMs,
    recalibrateUntilMs: source.fromMs + firstPartMs,
  });
  return await backtest(settings, source, undefined, har);
}

function twoErrors({ mean, error }: BlockMean): string {
  return `${mean < 0 ? "" : "+"}${mean.toFixed(3)} ± ${(2 * error).toFixed(3)}`;
}

/** Cells of duration and width in which a user wins by more than two standard errors. */
function lostCells(report: Report): string {
  const isLost = (gain: BlockMean | undefined) =>
    gain !== undefined && gain.mean + 2 * gain.error < 0;
  return report.cells(MODEL).filter(({ everyone, informed }) =>
    isLost(everyone) || isLost(informed)
  )
    .map(({ durationMs, width }) => `${formatDuration(durationMs)} at ${width}`).join(", ");
}

function describe(market: string, report: Report): void {
  const all = report.scores.length - 1;
  const own = report.makers.indexOf(MODEL);
  const rival = report.makers.indexOf(RIVAL);
  const scoreOf = (maker: number) => report.scores[all]?.byMaker[maker]?.mean.toFixed(4);
  const less = report.scoresAbove(MODEL)[all]?.[rival];
  const calibration = [undefined, ...report.durationsMs].map((durationMs) => {
    const { mean, chance } = report.calibrationError(MODEL, durationMs);
    return `${rowName(durationMs)} ${mean.toFixed(3)} (${chance.toFixed(3)})`;
  });
  const gainFrom = (user: string) =>
    report.gains.find((gain) => gain.maker === MODEL && gain.user === user);
  const everyone = gainFrom(USERS.everyone);
  const rows = [
    ["Brier, and HAR's", `${scoreOf(own)}, ${scoreOf(rival)}: ${less && twoErrors(less)} less`],
    ["|held - predicted| (chance)", calibration.join(", ")],
    ["gain from everyone", everyone && twoErrors(everyone.gain)],
    ["gain less expected", everyone && twoErrors(everyone.surprise)],
    ...[USERS.informed, USERS.patient].map((user) => {
      const gain = gainFrom(user);
      return [`gain, ${user}`, gain && `${twoErrors(gain.gain)}, ${gain.gain.count} bets`];
    }),
    ["a user wins at", lostCells(report)],
  ];
  console.log(
    `${market}: ${report.boxes} boxes over ${spanText(report.spanMs)}; ± two standard errors`,
  );
  for (const [name = "", value = ""] of rows) console.log(`  ${name.padEnd(44)}${value}`);
}

for (const file of files) describe(basename(file), await report(candlesOf(file)));
for (const name of files.length === 0 ? Object.keys(SIMULATED_MARKETS) : []) {
  describe(name, await report(simulated(name)));
}
