import { z } from "zod";
import * as kinds from "../../lib/cli/option_kinds.ts";
import { keyKind, keystoreOptions } from "../../lib/cli/key_options.ts";
import type { OptionsOf } from "../../lib/cli/options.ts";
import {
  chainIdOption,
  corsOriginsOption,
  databaseOption,
  limiterOptions,
  listenOptions,
  marketsOption,
  retainOption,
  rpcUrlOption,
} from "../../lib/cli/shared_options.ts";
import { EXCHANGE_HISTORY_URL } from "../../lib/net/exchange_history.ts";
import { optionsFor } from "../../lib/cli/option_names.ts";
import { DAY_MS } from "../../lib/time.ts";
import { pricingOptions } from "./pricing/options.ts";

/** Longest hedge, simulated or not; a longer one would outlive most quotes. */
const HEDGE_MAX_MS = 60_000;

const MULTIPLIER_RULE = "Expected a ratio from 1.0 to 10.0";

/** A ratio from 1 to 10, as decimal text. */
const multiplier = {
  schema: z.string().regex(/^\d{1,2}(\.\d{1,9})?$/, MULTIPLIER_RULE).transform(Number)
    .refine((ratio) => ratio >= 1 && ratio <= 10, MULTIPLIER_RULE),
  placeholder: "ratio",
} satisfies kinds.OptionKind;

/** Options of the solver (spec: quote solver, "Configuration"). */
export const options = optionsFor("solver", {
  dryRun: {
    flags: "-d, --dry-run",
    kind: kinds.flag,
    description: "quotes and estimates only: no transactions submitted",
    default: "false",
  },
  rpcUrl: rpcUrlOption,
  markets: marketsOption,
  wsUrl: {
    flags: "-w, --ws-url",
    kind: kinds.wsUrl,
    env: "KAIZEN_WS_URL",
    description: "core node WebSocket URL",
    default: "ws://localhost:8546",
  },
  privateKey: {
    flags: "-k, --private-key",
    kind: keyKind,
    env: "SOLVER_PRIVATE_KEY",
    description: "solver private key: 0x and 64 hex digits",
  },
  ...keystoreOptions,
  port: {
    flags: "-p, --port",
    kind: kinds.port,
    description: "API server port, also the bridge's default; 0 chooses a free one",
    default: "3000",
  },
  multiplier: {
    flags: "-m, --multiplier",
    kind: multiplier,
    description: "base payout multiplier, 1.0 to 10.0; reported by /info",
    default: "1.5",
  },
  maxRisk: {
    kind: kinds.amount,
    description: "largest loss on one thesis (payout minus bet), USDC with 6 decimals",
    default: "10000000000",
  },
  maxExposure: {
    kind: kinds.amount,
    description:
      "largest loss on all open theses of all solvers on the database, USDC with 6 decimals " +
      "(5000000000 is 5,000 USDC); no limit by default",
  },
  hedgeDelayMs: {
    kind: kinds.duration(0, HEDGE_MAX_MS),
    description: "duration of the simulated hedge; with --hedge-url, the usual duration of a hedge",
    default: "50",
  },
  hedgeUrl: {
    kind: kinds.serviceUrl,
    description: "service of your own that hedges executions: POST { quoteHash, quote, risk }",
  },
  hedgeTimeoutMs: {
    kind: kinds.duration(1, HEDGE_MAX_MS),
    description: "how long the service at --hedge-url may take to answer",
    default: "2000",
  },
  ...pricingOptions,
  historyUrl: {
    kind: kinds.serviceUrl,
    description:
      "candles of the last week at the start, from an API like Binance's; none by default, as " +
      `simulated prices have no past; for real ones ${EXCHANGE_HISTORY_URL}; not with --pricing mock`,
  },
  maxStartAheadMs: {
    kind: kinds.duration(0, DAY_MS * 365),
    description: "latest start of a window from now; not with --pricing mock",
    default: String(DAY_MS),
  },
  maxStartBehindMs: {
    kind: kinds.duration(0, DAY_MS),
    description: "earliest start of a window before now; not with --pricing mock",
    default: "60000",
  },
  maxDeadlineMs: {
    kind: kinds.duration(1, DAY_MS),
    description: "longest life of a quote; not with --pricing mock",
    default: "300000",
  },
  ...listenOptions,
  corsOrigins: corsOriginsOption,
  chainId: chainIdOption,
  database: databaseOption("data/solver.sqlite"),
  retain: retainOption,
  ...limiterOptions,
});

export type SolverOptions = OptionsOf<typeof options>;
