import { z } from "zod";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { hostOption, integerSchema, portSchema } from "../../lib/cli/option_types.ts";
import type { OptionsOf, OptionTable } from "../../lib/cli/options.ts";
import { plannedFaultSchema, VENUE_FAULT_NAMES } from "./faults.ts";

const SYMBOLS = MARKETS.map((market) => market.symbol);

/** Options of `rangemaker exchanges`. */
export const options = {
  port: {
    flags: "-P, --port <port>",
    env: "EXCHANGES_PORT",
    description: "HTTP and WebSocket port",
    schema: portSchema,
    default: "8560",
  },
  host: hostOption,
  seed: {
    flags: "--seed <n>",
    description: "seed of the simulation: the same seed gives the same prices",
    schema: integerSchema(0, 2 ** 31 - 1),
    default: "1",
  },
  rate: {
    flags: "--rate <n>",
    description: "simulated trades a second in each market at each venue, on average",
    schema: integerSchema(1, 10_000),
    default: "5",
  },
  tape: {
    flags: "--tape <file>",
    description: "CSV of trades to replay in a loop: time_ms,trade_id,side,price,amount",
    schema: z.string().min(1).optional(),
  },
  tapeMarket: {
    flags: "--tape-market <symbol>",
    description: "market of the tape; the others stay simulated",
    schema: z.enum(SYMBOLS, { error: `Expected one of ${SYMBOLS.join(", ")}` }),
    default: "ETH/USDT",
  },
  faults: {
    flags: "--fault <venue=fault>",
    description: "what goes wrong: venue=fault[@after_ms[+for_ms]]; repeatable; faults: " +
      VENUE_FAULT_NAMES.join(", "),
    schema: z.array(plannedFaultSchema).default([]),
    repeatable: true,
  },
} satisfies OptionTable;

/** The options after parsing. */
export type ExchangesOptions = OptionsOf<typeof options>;
