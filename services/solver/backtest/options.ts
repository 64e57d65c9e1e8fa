import { z } from "zod";
import * as kinds from "../../../lib/cli/option_kinds.ts";
import { optionTable } from "../../../lib/cli/options.ts";
import { DAY_MS, HOUR_MS } from "../../../lib/time.ts";
import { LIMITS } from "../shared/limits.ts";
import { pricingOptions, share } from "../pricing/options.ts";

const LIST_MAX = 20;

/** Comma-separated numbers; at most as many as fit in one table. */
function numbers(itemSchema: z.ZodType<number, string>) {
  const schema = z.string().transform(kinds.itemsOf)
    .pipe(z.array(itemSchema).max(LIST_MAX, `Expected at most ${LIST_MAX} values`));
  return { schema, placeholder: "list" } satisfies kinds.OptionKind;
}

const widthSchema = z.string().regex(/^\d{1,2}(\.\d{1,4})?$/, "Expected widths from 0.01 to 10")
  .transform(Number)
  .refine((width) => width >= 0.01 && width <= 10, "Expected widths from 0.01 to 10");

const offsetSchema = z.string().regex(/^-?(0(\.\d{1,4})?|1)$/, "Expected shares from -1 to 1")
  .transform(Number);

const stepMs = {
  schema: kinds.duration(100).schema.refine((ms) => ms % 100 === 0, "Expected a multiple of 100"),
  placeholder: "ms",
} satisfies kinds.OptionKind;

/** Options of the backtest, apart from its prices. */
export const planOptions = optionTable({
  strategy: {
    description: "also test the strategy that this TypeScript file exports",
    kind: kinds.module,
  },
  durationsMs: {
    description: "how long boxes last, separated by commas",
    kind: numbers(kinds.duration(LIMITS.minDurationMs, LIMITS.maxDurationMs).schema),
    default: "5000,15000,30000",
  },
  widths: {
    description: "half widths of boxes, in deviations of the mean move, separated by commas",
    kind: numbers(widthSchema),
    default: "0.6,1,1.5,2.25,3.5",
  },
  offsets: {
    description: "how far boxes are off the price, as shares of the half width",
    kind: numbers(offsetSchema),
    default: "0",
  },
  startAheadMs: {
    description: "how long before their start boxes are quoted",
    kind: numbers(kinds.duration(0, DAY_MS).schema),
    default: "0",
  },
  stepMs: {
    description: "time from one row of boxes to the next, a multiple of 100",
    kind: stepMs,
    default: "1000",
  },
  learningShare: {
    description: "first part of the data, from which models only learn; the rest is reported",
    kind: share,
    default: "0.5",
  },
  leadMs: {
    description: "also a user who sees prices this much earlier; 0 for none",
    kind: kinds.duration(0, HOUR_MS),
    default: "0",
  },
  waitMs: {
    description: "also a user who waits this long for the best moment to execute; 0 for none",
    kind: kinds.duration(0, 300_000),
    default: "300000",
  },
  priceAgeMs: {
    description: "age of the price that strategies see",
    kind: kinds.duration(0, HOUR_MS),
    default: "0",
  },
  margin: pricingOptions.margin,
  userLeadMs: pricingOptions.userLeadMs,
  volatilityFloor: pricingOptions.volatilityFloor,
  volatilityHistoryMs: pricingOptions.volatilityHistoryMs,
  minDurationMs: pricingOptions.minDurationMs,
  minWidthTicks: pricingOptions.minWidthTicks,
});

export const options = optionTable({
  tape: {
    flags: "-t, --tape <file>",
    description: "trades as CSV: time_ms,trade_id,side,price,amount",
    kind: kinds.file,
    required: true,
  },
  ...planOptions,
});
