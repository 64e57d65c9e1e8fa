import { z } from "zod";
import { integerSchema } from "../../lib/cli/option_types.ts";
import type { OptionTable } from "../../lib/cli/options.ts";

/** What the stack and the demo both let a user choose: where prices come from. */
export const priceOptions = {
  seed: {
    flags: "--seed <n>",
    description: "seed of the simulated prices",
    schema: integerSchema(0, 2 ** 31 - 1),
    default: "1",
  },
  tape: {
    flags: "--tape <file>",
    description: "replay recorded ETH/USDT trades (CSV time_ms,trade_id,side,price,amount)",
    schema: z.string().min(1).optional(),
  },
} satisfies OptionTable;
