import * as kinds from "../../lib/cli/option_kinds.ts";
import type { OptionTable } from "../../lib/cli/options.ts";

/** Options of both the stack and the demo: the source of prices. */
export const priceOptions = {
  seed: {
    flags: "--seed",
    kind: kinds.seed,
    description: "seed of the simulated prices",
    default: "1",
  },
  tape: {
    flags: "--tape",
    kind: kinds.file,
    description: "replay recorded ETH/USDT trades (CSV time_ms,trade_id,side,price,amount)",
  },
} satisfies OptionTable;
