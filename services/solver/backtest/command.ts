/** `rangemaker solver backtest`: how good the model is on recorded trades, and what it earns. */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import { seededRandom } from "../../../lib/random.ts";
import { command, ExitCode } from "../../../lib/cli/command.ts";
import * as kinds from "../../../lib/cli/option_kinds.ts";
import type { OptionTable } from "../../../lib/cli/options.ts";
import { progressBar } from "../../../lib/cli/progress.ts";
import { readTape } from "../../../lib/prices/tape.ts";
import { chargeOptions, volatility, volatilityOptions } from "../pricing/options.ts";
import { LIMITS } from "../limits.ts";
import { BacktestError, slideBoxes } from "./boxes.ts";
import { drawReport } from "./picture.ts";
import { describeReport, reportOn } from "./report.ts";
import { slotPricesOf } from "./slot_prices.ts";

/** Most values of a list: each is a row or column of the report's tables. */
const VALUES_MAX = 20;

/** A comma-separated list of numbers. */
function numbers(itemSchema: z.ZodType<number, string>) {
  const schema = z.string().transform((text) => text.split(",").map((part) => part.trim()))
    .pipe(z.array(itemSchema).min(1).max(VALUES_MAX, `Expected at most ${VALUES_MAX} values`));
  return { schema, placeholder: "list" } satisfies kinds.OptionKind;
}

const WIDTH_RULE = "Expected widths from 0.01 to 10";

const widthSchema = z.string().regex(/^\d{1,2}(\.\d{1,4})?$/, WIDTH_RULE).transform(Number)
  .refine((width) => width >= 0.01 && width <= 10, WIDTH_RULE);

const stepMs = {
  schema: kinds.duration(100).schema.refine((ms) => ms % 100 === 0, "Expected a multiple of 100"),
  placeholder: "ms",
} satisfies kinds.OptionKind;

/** Options of the backtest. */
export const options = {
  tape: {
    flags: "-t, --tape",
    kind: kinds.file,
    required: true,
    description: "trades as CSV: time_ms,trade_id,side,price,amount",
  },
  svg: {
    flags: "--svg",
    kind: kinds.outputFile,
    description: "also write the report as an SVG picture",
  },
  durationsMs: {
    flags: "--durations-ms",
    kind: numbers(kinds.duration(LIMITS.minDurationMs, LIMITS.maxDurationMs).schema),
    description: "durations of boxes, comma-separated",
    default: "5000,15000,30000",
  },
  widths: {
    flags: "--widths",
    kind: numbers(widthSchema),
    description:
      "half widths of boxes in standard deviations of the expected move, comma-separated",
    default: "0.6,0.8,1,1.25,1.5,2,2.5,3",
  },
  stepMs: {
    flags: "--step-ms",
    kind: stepMs,
    description: "time between rows of boxes, a multiple of 100",
    default: "1000",
  },
  volatility: {
    flags: "--volatility",
    kind: volatility,
    description: "known annualised volatility, instead of the estimate",
  },
  seed: {
    flags: "--seed",
    kind: kinds.seed,
    description: "seed of the mock's payouts",
    default: "1",
  },
  ...chargeOptions,
  ...volatilityOptions,
} satisfies OptionTable;

/** The `solver backtest` subcommand. */
export const run = command({
  name: "solver backtest",
  description:
    "Replays a tape of trades, and reports the model's calibration and the maker's profit and loss.",
  options,
  examples: [
    ["rangemaker solver backtest --tape trades.csv", "default boxes"],
    ["rangemaker solver backtest --tape trades.csv --svg backtest.svg", "with a picture"],
  ],
  async run(options, context) {
    const prices = slotPricesOf(await readTape(options.tape));
    const boxes = slideBoxes(prices, {
      ...options,
      charges: options,
      estimate: {
        halfLifeMs: options.volatilityHalfLifeMs,
        floor: options.volatilityFloor,
        minHistoryMs: options.volatilityHistoryMs,
      },
      onProgress(doneMs, totalMs) {
        const total = Math.round(totalMs / 1_000);
        context.progress(progressBar(total * doneMs / totalMs, total, "s of prices"));
      },
    }, seededRandom(options.seed));
    const report = reportOn(boxes);
    describeReport(report).forEach(context.print);
    if (options.svg !== undefined) {
      await write(options.svg, drawReport(report));
      context.print(`\nPicture written to ${options.svg}`);
    }
    return ExitCode.ok;
  },
});

async function write(path: string, text: string): Promise<void> {
  try {
    await Deno.writeTextFile(path, text);
  } catch (thrown) {
    throw new BacktestError(`Picture ${path} cannot be written: ${messageOf(thrown)}`);
  }
}
