import { z } from "zod";
import { integerSchema } from "../../../lib/cli/option_types.ts";
import type { OptionTable } from "../../../lib/cli/options.ts";
import { LIMITS } from "../limits.ts";
import { STRATEGY_NAMES } from "./strategy.ts";

/** The highest annualised volatility that makes sense here: a thousand percent. */
const VOLATILITY_MAX = 10;

/** The longest history that quotes wait for: a day. */
const HISTORY_MS_MAX = 86_400_000;

/** A share of at least 0 and below 1, as decimal text. */
export const shareSchema = z.string()
  .regex(/^0(\.\d{1,9})?$/, "Expected a share from 0 to below 1").transform(Number);

/** An annualised volatility above 0, as decimal text: 0.5 for 50 percent. */
export const volatilitySchema = z.string()
  .regex(/^\d{1,2}(\.\d{1,9})?$/, `Expected a volatility above 0 and up to ${VOLATILITY_MAX}`)
  .transform(Number)
  .refine(
    (volatility) => volatility > 0 && volatility <= VOLATILITY_MAX,
    `Expected a volatility above 0 and up to ${VOLATILITY_MAX}`,
  );

/** What the maker charges, as options. */
export const chargeOptions = {
  margin: {
    flags: "--margin <share>",
    description: "barrier: share of the fair payout that the solver keeps",
    schema: shareSchema,
    default: "0.05",
  },
  userLeadMs: {
    flags: "--user-lead-ms <ms>",
    description: "barrier: how much earlier than the solver a user may see prices; charged for",
    schema: integerSchema(0, 60_000),
    default: "1000",
  },
} satisfies OptionTable;

/** How volatility is estimated from prices, as options. */
export const volatilityOptions = {
  volatilityFloor: {
    flags: "--volatility-floor <volatility>",
    description: "barrier: minimum annualised volatility",
    schema: volatilitySchema,
    default: "0.1",
  },
  volatilityHistoryMs: {
    flags: "--volatility-history-ms <ms>",
    description: "barrier: price history needed before the first quote",
    schema: integerSchema(1_000, HISTORY_MS_MAX),
    default: "60000",
  },
} satisfies OptionTable;

/** All pricing options of the solver. */
export const pricingOptions = {
  pricing: {
    flags: "--pricing <strategy>",
    description: "mock: 1.05 to 1.10 times the bet at random; barrier: by a model of the price",
    schema: z.enum(STRATEGY_NAMES, { error: `Expected ${STRATEGY_NAMES.join(" or ")}` }),
    default: "mock",
  },
  ...chargeOptions,
  ...volatilityOptions,
  maxPriceAgeMs: {
    flags: "--max-price-age-ms <ms>",
    description: "barrier: oldest price that quotes are made from",
    schema: integerSchema(1, 60_000),
    default: "2000",
  },
  minDurationMs: {
    flags: "--min-duration-ms <ms>",
    description: "barrier: shortest window that is quoted",
    schema: integerSchema(LIMITS.minDurationMs, LIMITS.maxDurationMs),
    default: "1000",
  },
  minWidthTicks: {
    flags: "--min-width-ticks <n>",
    description: "barrier: narrowest range that is quoted, in smallest price moves seen",
    schema: integerSchema(0, 1_000_000),
    default: "4",
  },
  maxDeadlineMs: {
    flags: "--max-deadline-ms <ms>",
    description: "barrier: furthest quote deadline from now",
    schema: integerSchema(1_000, 86_400_000),
    default: "300000",
  },
} satisfies OptionTable;
