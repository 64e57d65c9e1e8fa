/** `rangemaker solver backtest`: measures models and their earnings on recorded prices. */
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { seededRandom } from "../../../lib/random.ts";
import { command, ExitCode } from "../../../lib/cli/command.ts";
import { type OptionsOf, UsageError } from "../../../lib/cli/options.ts";
import { progressBar } from "../../../lib/cli/terminal.ts";
import { readTape } from "../../../lib/prices/tape.ts";
import { BarrierStrategy } from "../pricing/barrier_strategy.ts";
import { MockStrategy } from "../pricing/mock_strategy.ts";
import type { StrategyFactory } from "../pricing/strategy.ts";
import { bridgedSlots } from "./candle_bridge.ts";
import { openCandles } from "./candle_file.ts";
import { type BacktestPlan, type Participants, runBacktest } from "./engine.ts";
import { loadStrategy } from "../pricing/load_strategy.ts";
import type { Maker } from "./maker.ts";
import { options } from "./options.ts";
import { type Report, reportOn } from "./report.ts";
import { describeReport, spanText } from "./report_text.ts";
import { HAR_FIT_MS_MIN, HarModel } from "./rivals/har.ts";
import { BaseRate, TerminalOnly } from "./rivals/simple.ts";
import { BacktestError, type SlotSource, tradeSlots } from "./slots.ts";
import { StrategyMaker } from "./strategy_maker.ts";
import { TapeMarket } from "./tape_market.ts";
import { MINUTE_MS } from "../../../lib/time.ts";

export { options };

type BacktestOptions = OptionsOf<typeof options>;

/** Default boxes by the kind of data: shorter boxes need finer prices. */
const DEFAULTS = {
  trades: { durationsMs: [5_000, 15_000, 30_000], stepMs: 1_000 },
  candles: {
    durationsMs: [1, 5, 15, 60, 240, 1_440].map((minutes) => minutes * MINUTE_MS),
    stepMs: 5 * MINUTE_MS,
  },
};

/** Share of the first part that models are fitted on; the rest of it recalibrates and compares them. */
const FIT_OF_FIRST_PART = 0.6;

/** The `solver backtest` subcommand. */
export const run = command({
  name: "solver backtest",
  description:
    "Slides boxes over recorded prices: how good models of the price are, and what makers earn with them.",
  options,
  examples: [
    ["rangemaker solver backtest --tape trades.csv", "short boxes on trades"],
    ["rangemaker solver backtest --candles btc-1m.csv", "1 m to 24 h"],
    ["rangemaker solver backtest --candles btc-1m.csv --strategy ./mine.ts", "a strategy of yours"],
  ],
  async run(options, context) {
    const report = await backtest(options, await openSource(options), (doneMs, totalMs) => {
      const total = Math.round(totalMs / 1_000);
      context.progress(progressBar(total * doneMs / totalMs, total, "s of prices"));
    });
    context.progress("");
    describeReport(report).forEach(context.print);
    return ExitCode.ok;
  },
});

/**
 * Runs the backtest of the options on prices.
 *
 * @throws {BacktestError} If the prices are too short or too coarse for the options.
 */
export async function backtest(
  options: BacktestOptions,
  source: SlotSource,
  onProgress?: BacktestPlan["onProgress"],
): Promise<Report> {
  const plan = planOf(options, source);
  const participants = await createParticipants(options, plan, source.fromMs);
  const results = await runBacktest(source, { ...plan, onProgress }, participants);
  return reportOn(results, {
    ...plan,
    makers: participants.makers.map(({ name }) => name),
    focus: participants.focus,
    // The rival with the most freedom.
    compared: participants.makers.at(-1)?.name ?? "",
    spanMs: source.toMs - plan.reportFromMs,
    omitted: participants.omitted,
  });
}

async function openSource({ tape, candles, seed }: BacktestOptions): Promise<SlotSource> {
  if (tape !== undefined && candles === undefined) return tradeSlots(await readTape(tape));
  if (candles !== undefined && tape === undefined) {
    return bridgedSlots(await openCandles(candles), seed);
  }
  throw new UsageError("Expected either --tape or --candles");
}

function planOf(
  options: BacktestOptions,
  source: SlotSource,
): BacktestPlan {
  const defaults = source.recordedMs < MINUTE_MS ? DEFAULTS.trades : DEFAULTS.candles;
  const firstPartMs = options.fitShare * (source.toMs - source.fromMs);
  const durationsMs = options.durationsMs ?? defaults.durationsMs;
  const stepMs = options.stepMs ?? defaults.stepMs;
  const uneven = [stepMs, ...durationsMs].find((ms) => ms % source.recordedMs !== 0);
  if (uneven !== undefined) {
    throw new BacktestError(
      `Prices recorded every ${source.recordedMs} ms cannot decide boxes of ${uneven} ms: expected multiples`,
    );
  }
  return {
    ...options,
    durationsMs,
    stepMs,
    compareFromMs: source.fromMs + FIT_OF_FIRST_PART * firstPartMs,
    reportFromMs: source.fromMs + firstPartMs,
  };
}

async function createParticipants(
  options: BacktestOptions,
  { durationsMs, compareFromMs, reportFromMs }: BacktestPlan,
  fromMs: number,
): Promise<Participants & { focus: string[]; omitted: { name: string; reason: string }[] }> {
  const { margin, userLeadMs, minDurationMs, minWidthTicks, priceAgeMs, volatility } = options;
  const market = new TapeMarket({
    floor: options.volatilityFloor,
    minHistoryMs: options.volatilityHistoryMs,
    priceAgeMs,
    volatility,
  });
  const barrier: StrategyFactory = (context) =>
    new BarrierStrategy({
      ...context,
      markets: SPEC_MARKETS,
      margin,
      userLeadMs,
      maxPriceAgeMs: priceAgeMs,
      minDurationMs,
      minWidthTicks,
    });
  const tested: Maker[] = [
    new StrategyMaker(barrier, market),
    new StrategyMaker(() => new MockStrategy(seededRandom(options.seed)), market),
  ];
  if (options.strategy !== undefined) {
    const { strategy: path } = options;
    tested.push(new StrategyMaker(await loadStrategy(path), market, path));
  }
  const schedule = { fitUntilMs: compareFromMs, recalibrateUntilMs: reportFromMs };
  const har = new HarModel(margin, durationsMs, schedule);
  const fitMs = compareFromMs - fromMs;
  const hasFit = fitMs >= HAR_FIT_MS_MIN;
  const rivals = [
    new TerminalOnly(margin),
    new BaseRate(margin),
    ...(hasFit ? [har] : []),
  ];
  const reason = `its fit needs ${spanText(HAR_FIT_MS_MIN)} of prices, and has ` +
    `${spanText(fitMs)}: use a longer recording`;
  return {
    market,
    makers: [...tested, ...rivals],
    focus: tested.filter(({ name }) => name !== "mock").map(({ name }) => name),
    tested: new Set(tested.map(({ name }) => name)),
    omitted: hasFit ? [] : [{ name: har.name, reason }],
  };
}
