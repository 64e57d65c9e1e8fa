import * as kinds from "../../lib/cli/option_kinds.ts";
import { optionTable } from "../../lib/cli/options.ts";
import { listenOptions, marketsOption } from "../../lib/cli/shared_options.ts";
import { IN_MEMORY } from "../../lib/database/database_url.ts";
import { pricingOptions } from "../solver/pricing/options.ts";
import { PORT_OFFSET_MAX } from "./ports.ts";
import { STACK_PRICING } from "./stack.ts";

/** Options of both the stack and the demo: the source of prices. */
const priceOptions = optionTable({
  seed: {
    kind: kinds.seed,
    description: "seed of the simulated prices",
    default: "1",
  },
  tape: {
    kind: kinds.file,
    description: "replay recorded ETH/USDT trades (CSV time_ms,trade_id,side,price,amount)",
  },
});

export const options = optionTable({
  ...priceOptions,
  live: {
    kind: kinds.flag,
    description: "take prices from the real exchanges",
    default: "false",
  },
  portOffset: {
    kind: kinds.integer(0, PORT_OFFSET_MAX),
    description: "added to every port, so that several stacks can run side by side",
    default: "0",
  },
  ...listenOptions,
  markets: marketsOption,
  corsOrigins: {
    kind: kinds.origins,
    description: "web pages besides the console that may call solver, bridge and proxy, " +
      "comma-separated; * for all; none by default",
  },
  dataDir: {
    flags: "-d, --data-dir",
    kind: kinds.dataDirectory,
    description: "directory of node, bridge and solver, which then survive a restart; :memory: " +
      "keeps nothing",
    default: IN_MEMORY,
  },
  ...pricingOptions,
  pricing: { ...pricingOptions.pricing, default: STACK_PRICING.pricing },
  userLeadMs: {
    flags: pricingOptions.userLeadMs.flags,
    kind: pricingOptions.userLeadMs.kind,
    description:
      `${pricingOptions.userLeadMs.description}; by default ${STACK_PRICING.userLeadMs}, with ` +
      `--live ${pricingOptions.userLeadMs.default}`,
  },
  volatilityHistoryMs: {
    ...pricingOptions.volatilityHistoryMs,
    default: String(STACK_PRICING.volatilityHistoryMs),
  },
});

export const demoOptions = optionTable({
  ...priceOptions,
  keep: {
    kind: kinds.flag,
    description: "keep everything running afterwards and print the URLs",
    default: "false",
  },
});
