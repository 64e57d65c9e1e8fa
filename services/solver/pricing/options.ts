import { z } from "zod";
import * as kinds from "../../../lib/cli/option_kinds.ts";
import type { OptionTable } from "../../../lib/cli/options.ts";
import { STRATEGY_NAMES } from "./strategy.ts";

/** Largest accepted annualised volatility: a thousand percent. */
const VOLATILITY_MAX = 10;

/** Longest price history: a day. */
const HISTORY_MS_MAX = 86_400_000;

const VOLATILITY_RULE = `Expected a volatility above 0 and up to ${VOLATILITY_MAX}`;

/** A share of at least 0 and below 1, as decimal text. */
const share = {
  schema: z.string().regex(/^0(\.\d{1,9})?$/, "Expected a share from 0 to below 1")
    .transform(Number),
  placeholder: "share",
} satisfies kinds.OptionKind;

/** An annualised volatility above 0, as decimal text: 0.5 for 50 percent. */
export const volatility = {
  schema: z.string().regex(/^\d{1,2}(\.\d{1,9})?$/, VOLATILITY_RULE).transform(Number)
    .refine((volatility) => volatility > 0 && volatility <= VOLATILITY_MAX, VOLATILITY_RULE),
  placeholder: "volatility",
} satisfies kinds.OptionKind;

/** The maker's charges. */
export const chargeOptions = {
  margin: {
    flags: "--margin",
    kind: share,
    description: "barrier: share of the fair payout that the solver keeps",
    default: "0.03",
  },
  vegaCharge: {
    flags: "--vega-charge",
    kind: share,
    description: "barrier: price as if volatility were this share lower",
    default: "0.1",
  },
} satisfies OptionTable;

/** How volatility is estimated from prices. */
export const volatilityOptions = {
  volatilityFloor: {
    flags: "--volatility-floor",
    kind: volatility,
    description: "barrier: minimum annualised volatility",
    default: "0.1",
  },
  volatilityHalfLifeMs: {
    flags: "--volatility-half-life-ms",
    kind: kinds.duration(1_000, HISTORY_MS_MAX),
    description: "barrier: age at which a price move has half its weight",
    default: "600000",
  },
  volatilityHistoryMs: {
    flags: "--volatility-history-ms",
    kind: kinds.duration(1_000, HISTORY_MS_MAX),
    description: "barrier: price history required before the first quote",
    default: "60000",
  },
} satisfies OptionTable;

/** Pricing options of the solver. */
export const pricingOptions = {
  pricing: {
    flags: "--pricing <strategy>",
    kind: kinds.choice(STRATEGY_NAMES),
    description: "mock: a random 1.05 to 1.10 times the bet; barrier: a model of the price",
    default: "mock",
  },
  ...chargeOptions,
  ...volatilityOptions,
  maxPriceAgeMs: {
    flags: "--max-price-age-ms",
    kind: kinds.duration(1, 60_000),
    description: "barrier: maximum age of the price that a quote is based on",
    default: "2000",
  },
} satisfies OptionTable;
