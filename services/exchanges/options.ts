import { z } from "zod";
import * as kinds from "../../lib/cli/option_kinds.ts";
import type { OptionsOf } from "../../lib/cli/options.ts";
import { listenOptions, marketsOption, readerOriginsOption } from "../../lib/cli/shared_options.ts";
import { optionsFor } from "../../lib/cli/option_names.ts";
import { EXCHANGE_FAULT_NAMES, plannedFaultSchema } from "./faults.ts";

const fault = {
  schema: z.array(plannedFaultSchema),
  placeholder: "exchange=fault",
} satisfies kinds.OptionKind;

export const options = optionsFor("exchanges", {
  port: {
    flags: "-P, --port",
    kind: kinds.port,
    description: "HTTP and WebSocket port",
    default: "8560",
  },
  ...listenOptions,
  markets: marketsOption,
  corsOrigins: readerOriginsOption,
  seed: {
    kind: kinds.seed,
    description: "seed of the simulation; the same seed gives the same prices",
    default: "1",
  },
  rate: {
    kind: kinds.integer(1, 10_000),
    description: "average number of simulated trades a second per market and exchange",
    default: "5",
  },
  tape: {
    kind: kinds.file,
    description: "CSV of trades to replay in a loop: time_ms,trade_id,side,price,amount",
  },
  tapeMarket: {
    kind: kinds.marketSymbol,
    description: "market of the tape; the other markets are simulated",
    default: "ETH/USDT",
  },
  faults: {
    flags: "--fault",
    kind: fault,
    description: "fault to inject: exchange=fault[@after_ms[+for_ms]]; repeatable; faults: " +
      EXCHANGE_FAULT_NAMES.join(", "),
    default: "",
    repeatable: true,
  },
});

export type ExchangesOptions = OptionsOf<typeof options>;
