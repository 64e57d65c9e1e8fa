/** `rangemaker solver backtest`: compares strategies and their earnings on recorded prices. */
import { RangemakerError } from "../../../lib/errors.ts";
import { seededRandom } from "../../../lib/random.ts";
import { createCommand, ExitCode } from "../../../lib/cli/command.ts";
import type { OptionsOf } from "../../../lib/cli/options.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { progressBar } from "../../../lib/cli/terminal.ts";
import { readTape } from "../../../lib/prices/tape.ts";
import { HOUR_MS } from "../../../lib/time.ts";
import { BarrierStrategy } from "../pricing/barrier_strategy.ts";
import { MockStrategy } from "../pricing/mock_strategy.ts";
import { MarketVolatility } from "../pricing/volatility.ts";
import { type BacktestPlan, runBacktest } from "./engine.ts";
import { loadStrategy } from "../pricing/load_strategy.ts";
import type { Maker } from "./maker.ts";
import { options, type planOptions } from "./options.ts";
import { type Report, reportOn } from "./report.ts";
import { describeReport, formatDuration } from "./report_text.ts";
import { type SlotSource, tradeSlots } from "./slots.ts";
import { StrategyMaker, TapeMarket } from "./strategy_maker.ts";

export { options };

type PlanOptions = OptionsOf<typeof planOptions>;

export const run = createCommand({
  name: "solver backtest",
  description:
    "Slides boxes over recorded prices: how good strategies are, and what makers earn with them.",
  options,
  examples: [
    ["rangemaker solver backtest --tape trades.csv", "the built-in strategies"],
    ["rangemaker solver backtest --tape trades.csv --strategy ./mine.ts", "one of yours"],
  ],
  async run(options, context) {
    const rows = await readTape(options.tape);
    const source = tradeSlots(rows);
    const hours = ((source.toMs - source.fromMs) / HOUR_MS).toFixed(1);
    const facts = { event: "backtest_started", trades: rows.length, hours };
    serviceLog("solver").info("Simulating bets on {trades} trades over {hours} h", facts);
    const report = await backtest(options, source, (doneMs, totalMs) => {
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
 * @param rival A maker in addition to those of the options: users of `barrier` know its model.
 * @throws {RangemakerError} `BACKTEST` if the prices are too short for the options.
 */
export async function backtest(
  options: PlanOptions,
  source: SlotSource,
  onProgress?: BacktestPlan["onProgress"],
  rival?: Maker,
): Promise<Report> {
  const { fromMs, toMs } = source;
  const plan: BacktestPlan = {
    ...options,
    reportFromMs: fromMs + options.learningShare * (toMs - fromMs),
    blockMs: Math.max(HOUR_MS, ...options.durationsMs),
    onProgress,
  };
  const market = new TapeMarket(new MarketVolatility(options), options.priceAgeMs);
  const makers: Maker[] = [
    new StrategyMaker(
      (context) =>
        new BarrierStrategy({ ...context, ...options, maxPriceAgeMs: options.priceAgeMs }),
      market,
    ),
    new StrategyMaker(() => new MockStrategy(seededRandom(1)), market),
  ];
  const { strategy: path } = options;
  if (path !== undefined) makers.push(new StrategyMaker(await loadStrategy(path), market, path));
  if (rival !== undefined) makers.push(rival);
  const names = makers.map(({ name }) => name);
  // Users of `barrier` know the last maker's model, those of all others know `barrier`'s.
  const last = makers.length - 1;
  const rivals = makers.map((_, index) => index === 0 && last > 1 ? last : 0);
  const results = runBacktest(source, plan, { market, makers, rivals });
  const spanMs = toMs - plan.reportFromMs;
  if (results.boxes === 0) {
    throw new RangemakerError(
      "BACKTEST",
      `No box fits into ${formatDuration(spanMs)} of prices to report on: ` +
        "use a longer recording, a shorter --durations-ms or a lower --learning-share",
    );
  }
  return reportOn(results, {
    ...plan,
    makers: names,
    focus: names.filter((name) => name !== "mock"),
    spanMs,
  });
}
