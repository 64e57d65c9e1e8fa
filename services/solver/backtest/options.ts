import { z } from "zod";
import { integerSchema } from "../../../lib/cli/option_types.ts";
import type { OptionTable } from "../../../lib/cli/options.ts";
import { LIMITS } from "../limits.ts";
import {
  chargeOptions,
  pricingOptions,
  shareSchema,
  volatilityOptions,
  volatilitySchema,
} from "../pricing/options.ts";

const LIST_MAX = 20;

/** Numbers separated by commas, each by a schema; at most as many as make sense in one table. */
function listSchema(itemSchema: z.ZodType<number, string>) {
  return z.string().transform((text) => text.split(",").map((part) => part.trim()))
    .pipe(z.array(itemSchema).min(1).max(LIST_MAX, `Expected at most ${LIST_MAX} values`));
}

const widthSchema = z.string().regex(/^\d{1,2}(\.\d{1,4})?$/, "Expected widths from 0.01 to 10")
  .transform(Number)
  .refine((width) => width >= 0.01 && width <= 10, "Expected widths from 0.01 to 10");

const offsetSchema = z.string().regex(/^-?(0(\.\d{1,4})?|1)$/, "Expected shares from -1 to 1")
  .transform(Number);

const fileSchema = z.string().min(1).optional();

/** Options of the backtest. */
export const options = {
  tape: {
    flags: "-t, --tape <file>",
    description: "trades as CSV: time_ms,trade_id,side,price,amount",
    schema: fileSchema,
  },
  candles: {
    flags: "-c, --candles <file>",
    description: "candles as CSV, in place of trades: time_ms,open,high,low,close",
    schema: fileSchema,
  },
  strategy: {
    flags: "--strategy <file>",
    description: "also test the strategy that this TypeScript file exports",
    schema: fileSchema,
  },
  svg: {
    flags: "--svg <file>",
    description: "also write pictures, one per question: out.svg gives out-brier.svg and others",
    schema: z.string().min(1).optional(),
  },
  durationsMs: {
    flags: "--durations-ms <list>",
    description:
      "how long boxes last, separated by commas; by default 5 s to 30 s for trades, 1 m to 24 h for candles",
    schema: listSchema(integerSchema(LIMITS.minDurationMs, LIMITS.maxDurationMs)).optional(),
  },
  widths: {
    flags: "--widths <list>",
    description: "half widths of boxes, in deviations of the mean move, separated by commas",
    schema: listSchema(widthSchema),
    default: "0.6,1,1.5,2.25,3.5",
  },
  offsets: {
    flags: "--offsets <list>",
    description: "how far boxes are off the price, as shares of the half width",
    schema: listSchema(offsetSchema),
    default: "0",
  },
  startAheadMs: {
    flags: "--start-ahead-ms <list>",
    description: "how long before their start boxes are quoted",
    schema: listSchema(integerSchema(0, 86_400_000)),
    default: "0",
  },
  stepMs: {
    flags: "--step-ms <ms>",
    description:
      "time from one row of boxes to the next, a multiple of 100; by default 1 s for trades, 5 m for candles",
    schema: integerSchema(100).refine((ms) => ms % 100 === 0, "Expected a multiple of 100")
      .optional(),
  },
  fitShare: {
    flags: "--fit-share <share>",
    description: "first part of the data, for fits; the rest is reported",
    schema: shareSchema,
    default: "0.5",
  },
  leadMs: {
    flags: "--lead-ms <ms>",
    description: "also a user who sees prices this much earlier; 0 for none",
    schema: integerSchema(0, 3_600_000),
    default: "0",
  },
  waitMs: {
    flags: "--wait-ms <ms>",
    description: "also a user who waits this long for the best moment to execute; 0 for none",
    schema: integerSchema(0, 300_000),
    default: "300000",
  },
  priceAgeMs: {
    flags: "--price-age-ms <ms>",
    description: "age of the price that strategies see",
    schema: integerSchema(0, 3_600_000),
    default: "0",
  },
  volatility: {
    flags: "--volatility <volatility>",
    description: "annualised volatility where it is known, in place of the estimate",
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
  minDurationMs: pricingOptions.minDurationMs,
  minWidthTicks: pricingOptions.minWidthTicks,
} satisfies OptionTable;
