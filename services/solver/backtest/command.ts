/** `rangemaker solver backtest`: how good the model is on recorded trades, and what it earns. */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import { seededRandom } from "../../../lib/random.ts";
import { command, ExitCode } from "../../../lib/cli/command.ts";
import { integerSchema } from "../../../lib/cli/option_types.ts";
import type { OptionTable } from "../../../lib/cli/options.ts";
import { progressBar } from "../../../lib/cli/progress.ts";
import { readTape } from "../../../lib/prices/tape.ts";
import { chargeOptions, volatilityOptions, volatilitySchema } from "../pricing/options.ts";
import { LIMITS } from "../limits.ts";
import { BacktestError, slideBoxes } from "./boxes.ts";
import { drawReport } from "./picture.ts";
import { describeReport, reportOn } from "./report.ts";
import { slotPricesOf } from "./slot_prices.ts";

/** Numbers separated by commas, each by a schema; at most as many as make sense in one table. */
function listSchema(itemSchema: z.ZodType<number, string>) {
  return z.string().transform((text) => text.split(",").map((part) => part.trim()))
    .pipe(z.array(itemSchema).min(1).max(20, "Expected at most 20 values"));
}

const widthSchema = z.string().regex(/^\d{1,2}(\.\d{1,4})?$/, "Expected widths from 0.01 to 10")
  .transform(Number)
  .refine((width) => width >= 0.01 && width <= 10, "Expected widths from 0.01 to 10");

/** Options of the backtest. */
export const options = {
  tape: {
    flags: "-t, --tape <file>",
    description: "trades as CSV: time_ms,trade_id,side,price,amount",
    schema: z.string({ error: "Expected a file" }).min(1),
  },
  svg: {
    flags: "--svg <file>",
    description: "also write the result as a picture",
    schema: z.string().min(1).optional(),
  },
  durationsMs: {
    flags: "--durations-ms <list>",
    description: "how long boxes last, separated by commas",
    schema: listSchema(integerSchema(LIMITS.minDurationMs, LIMITS.maxDurationMs)),
    default: "5000,15000,30000",
  },
  widths: {
    flags: "--widths <list>",
    description: "half widths of boxes, in deviations of the move expected, separated by commas",
    schema: listSchema(widthSchema),
    default: "0.6,0.8,1,1.25,1.5,2,2.5,3",
  },
  stepMs: {
    flags: "--step-ms <ms>",
    description: "time from one row of boxes to the next, a multiple of 100",
    schema: integerSchema(100).refine((ms) => ms % 100 === 0, "Expected a multiple of 100"),
    default: "1000",
  },
  volatility: {
    flags: "--volatility <volatility>",
    description: "volatility a year where it is known, in place of the estimate",
    schema: volatilitySchema.optional(),
  },
  seed: {
    flags: "--seed <n>",
    description: "seed of the mock's payouts",
    schema: integerSchema(0, 2 ** 31 - 1),
    default: "1",
  },
  ...chargeOptions,
  ...volatilityOptions,
} satisfies OptionTable;

/** The `solver backtest` subcommand. */
export const run = command({
  name: "solver backtest",
  description:
    "Slides boxes over a tape: calibration of the model, and the maker's profit and loss.",
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
