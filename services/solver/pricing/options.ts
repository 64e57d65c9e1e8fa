import { z } from "zod";
import { integerSchema } from "../../../lib/cli/option_types.ts";
import type { OptionTable } from "../../../lib/cli/options.ts";
import { STRATEGY_NAMES } from "./strategy.ts";

/** The most volatile year that makes sense here: a thousand percent. */
const VOLATILITY_MAX = 10;

/** The longest that prices are remembered or waited for: a day. */
const HISTORY_MS_MAX = 86_400_000;

/** A share of at least 0 and below 1, as decimal text. */
export const shareSchema = z.string()
  .regex(/^0(\.\d{1,9})?$/, "Expected a share from 0 to below 1").transform(Number);

/** A volatility a year above 0, as decimal text: 0.5 for 50 percent. */
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
    default: "0.03",
  },
  vegaCharge: {
    flags: "--vega-charge <share>",
    description: "barrier: price as if volatility were lower by this share",
    schema: shareSchema,
    default: "0.1",
  },
} satisfies OptionTable;

/** How volatility is told from prices, as options. */
export const volatilityOptions = {
  volatilityFloor: {
    flags: "--volatility-floor <volatility>",
    description: "barrier: least volatility a year that is ever reckoned with",
    schema: volatilitySchema,
    default: "0.1",
  },
  volatilityHalfLifeMs: {
    flags: "--volatility-half-life-ms <ms>",
    description: "barrier: age at which a move of the price counts half",
    schema: integerSchema(1_000, HISTORY_MS_MAX),
    default: "600000",
  },
  volatilityHistoryMs: {
    flags: "--volatility-history-ms <ms>",
    description: "barrier: price history needed before the first quote",
    schema: integerSchema(1_000, HISTORY_MS_MAX),
    default: "60000",
  },
} satisfies OptionTable;

/** All about the price, as options of the solver. */
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
} satisfies OptionTable;
