/**
 * The goals of the model for files of candles, or without them for simulated markets that no constant was
 * chosen on. Other arguments are options of the backtest. Run with
 * `deno run --allow-read --allow-env tests/bench/pricing_goals.ts [candles.csv …] [--step-ms 1860000 …]`: a
 * divisor of the hour would see only some of its minutes, which differ.
 */
import { basename } from "node:path";
import { parseOptions } from "../../lib/cli/options.ts";
import { seededRandom } from "../../lib/random.ts";
import { bridgedSlots, type CandleSource } from "../../services/solver/backtest/candle_bridge.ts";
import { openCandles } from "../../services/solver/backtest/candle_file.ts";
import { backtest, options } from "../../services/solver/backtest/command.ts";
import type { DailyMean } from "../../services/solver/backtest/daily_series.ts";
import type { Report } from "../../services/solver/backtest/report.ts";
import { formatDuration, rowName, spanText } from "../../services/solver/backtest/report_text.ts";
import { PARTS } from "../../services/solver/backtest/results.ts";
import { USERS } from "../../services/solver/backtest/users.ts";
import { SIMULATED_MARKETS, simulatedCandles } from "../solver/pricing/simulated_markets.ts";

const MODEL = "barrier";
const RIVAL = "HAR, fitted";
const SIMULATED_DAYS = 20;

const files = Deno.args.filter((argument) => argument.endsWith(".csv"));
const rest = Deno.args.filter((argument) => !files.includes(argument));
const text = { name: "pricing_goals", description: "", examples: [] };
const settings = parseOptions(text, options, rest, () => undefined);

/** A simulated market as a file of candles. */
function simulatedSource(name: string): CandleSource {
  const minutes = SIMULATED_DAYS * 1_440;
  const candles = [...simulatedCandles(seededRandom(2), SIMULATED_MARKETS[name]!, minutes)]; // by its name
  return {
    durationMs: 60_000,
    fromMs: 0,
    toMs: minutes * 60_000,
    async *candles() {
      yield await Promise.resolve(candles);
    },
  };
}

function twoErrors({ mean, error }: DailyMean): string {
  return `${mean < 0 ? "" : "+"}${mean.toFixed(3)} ± ${(2 * error).toFixed(3)}`;
}

/** Cells of duration and width in which a user wins by more than two standard errors. */
function lostCells(report: Report): string {
  const isLost = (gain: DailyMean | undefined) =>
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
    ["gain from everyone", everyone && twoErrors(everyone.path)],
    [`of that: ${PARTS.join(", ")}`, everyone?.parts.map((part) => part.toFixed(3)).join(", ")],
    ["gain less expected", everyone && twoErrors(everyone.surprise)],
    ...[USERS.informed, USERS.patient].map((user) => {
      const gain = gainFrom(user);
      return [`gain, ${user}`, gain && `${twoErrors(gain.path)}, ${gain.path.count} bets`];
    }),
    ["a user wins at", lostCells(report)],
  ];
  console.log(
    `${market}: ${report.boxes} boxes over ${spanText(report.spanMs)}; ± two standard errors`,
  );
  for (const [name = "", value = ""] of rows) console.log(`  ${name.padEnd(44)}${value}`);
}

for (const file of files) {
  describe(
    basename(file),
    await backtest(settings, bridgedSlots(await openCandles(file), settings.seed)),
  );
}
for (const name of files.length === 0 ? Object.keys(SIMULATED_MARKETS) : []) {
  describe(name, await backtest(settings, bridgedSlots(simulatedSource(name), settings.seed)));
}
