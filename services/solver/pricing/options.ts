import { z } from "zod";
import * as kinds from "../../../lib/cli/option_kinds.ts";
import { optionTable } from "../../../lib/cli/options.ts";
import { DAY_MS } from "../../../lib/time.ts";
import { LIMITS } from "../shared/limits.ts";
import { isBuiltIn, STRATEGIES } from "./strategy.ts";

/** The highest plausible annualised volatility: a thousand percent. */
const OPTION_VOLATILITY_MAX = 10;

const VOLATILITY_RULE = `Expected a volatility above 0 and up to ${OPTION_VOLATILITY_MAX}`;

/** A share of at least 0 and below 1, as decimal text. */
export const share = {
  schema: z.string().regex(/^0(\.\d{1,9})?$/, "Expected a share from 0 to below 1")
    .transform(Number),
  placeholder: "share",
} satisfies kinds.OptionKind;

/** An annualised volatility above 0, as decimal text: 0.5 for 50 percent. */
const volatility = {
  schema: z.string().regex(/^\d{1,2}(\.\d{1,9})?$/, VOLATILITY_RULE).transform(Number)
    .refine((volatility) => volatility > 0 && volatility <= OPTION_VOLATILITY_MAX, VOLATILITY_RULE),
  placeholder: "volatility",
} satisfies kinds.OptionKind;

const STRATEGY_RULE = `Expected ${
  Object.keys(STRATEGIES).join(", ")
} or the path of a strategy, such as ./mine.ts`;

/** The name of a built-in strategy, or the path of a module, which contains a slash or a dot. */
const strategy = {
  ...kinds.module,
  schema: z.string().refine(
    (text) => isBuiltIn(text) || /[\\/]|\.[cm]?[jt]s$/.test(text),
    STRATEGY_RULE,
  ),
  placeholder: "strategy",
  completes: Object.keys(STRATEGIES),
} satisfies kinds.OptionKind;

export const pricingOptions = optionTable({
  pricing: {
    flags: "--pricing <strategy>",
    description: Object.entries(STRATEGIES).map(([name, how]) => `${name}: ${how}; `).join("") +
      "or the path of a strategy of your own, such as ./mine.ts",
    kind: strategy,
    default: "mock",
  },
  margin: {
    description: "barrier: share of the fair payout that the solver keeps",
    kind: share,
    default: "0.05",
  },
  userLeadMs: {
    description:
      "barrier: how much earlier than the solver a user may see prices; where that pays, " +
      "an execution waits that long before its price is checked again",
    kind: kinds.duration(0, 60_000),
    default: "3000",
  },
  skew: {
    flags: "--skew",
    description:
      "barrier: share of the winnings withheld once similar bets risk --max-exposure (without it, " +
      "ten times --max-risk), in proportion below; 0 for none",
    kind: share,
    default: "0.5",
  },
  volatilityFloor: {
    description: "barrier: minimum annualised volatility",
    kind: volatility,
    default: "0.1",
  },
  volatilityHistoryMs: {
    description: "barrier: price history needed before the first quote",
    kind: kinds.duration(1_000, DAY_MS),
    default: "60000",
  },
  maxPriceAgeMs: {
    description: "barrier: oldest price that quotes are made from",
    kind: kinds.duration(1, 60_000),
    default: "2000",
  },
  minDurationMs: {
    description: "barrier: shortest window that is quoted",
    kind: kinds.duration(LIMITS.minDurationMs, LIMITS.maxDurationMs),
    default: "1000",
  },
  minWidthTicks: {
    description: "barrier: narrowest range that is quoted, in smallest price moves seen",
    kind: kinds.integer(0, 1_000_000),
    default: "4",
  },
});
