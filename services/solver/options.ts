import { z } from "zod";
import { uint64Schema } from "../../lib/protocol/scalars.ts";
import { faultPointOption } from "../../lib/fault_points.ts";
import { databaseOption } from "../../lib/cli/database_option.ts";
import { limiterOptions } from "../../lib/http/limiter.ts";
import {
  chainIdOption,
  corsOriginsOption,
  hostOption,
  integerSchema,
  portSchema,
  privateKeySchema,
  rpcUrlOption,
  switchSchema,
  wsUrlSchema,
} from "../../lib/cli/option_types.ts";
import type { OptionsOf, OptionTable } from "../../lib/cli/options.ts";
import { pricingOptions } from "./pricing/options.ts";

const DAY_MS = 86_400_000;

/** Longest simulated hedge: one that took longer would outlive most quotes. */
const HEDGE_DELAY_MS_MAX = 60_000;

const multiplierSchema = z.string()
  .regex(/^\d{1,2}(\.\d{1,9})?$/, "Expected a ratio from 1.0 to 10.0")
  .transform(Number)
  .refine((ratio) => ratio >= 1 && ratio <= 10, "Expected a ratio from 1.0 to 10.0");

/** Options of the solver (spec: quote solver, "Configuration"). */
export const options = {
  dryRun: {
    flags: "-d, --dry-run",
    description: "quotes and estimates only: no transactions submitted",
    schema: switchSchema,
    default: "false",
  },
  rpcUrl: rpcUrlOption,
  wsUrl: {
    flags: "-w, --ws-url <url>",
    env: "KAIZEN_WS_URL",
    description: "core node WebSocket URL",
    schema: wsUrlSchema,
    default: "ws://localhost:8546",
  },
  privateKey: {
    flags: "-k, --private-key <key>",
    env: "SOLVER_PRIVATE_KEY",
    description: "solver private key: 0x and 64 hex digits",
    schema: privateKeySchema,
    secret: true,
  },
  port: {
    flags: "-p, --port <port>",
    description: "API server port; 0 takes a free one",
    schema: portSchema,
    default: "3000",
  },
  multiplier: {
    flags: "-m, --multiplier <ratio>",
    description: "base payout multiplier, 1.0 to 10.0; reported by /info",
    schema: multiplierSchema,
    default: "1.5",
  },
  maxRisk: {
    flags: "--max-risk <amount>",
    description: "most that one thesis may lose (payout minus bet), USDC with 6 decimals",
    schema: uint64Schema,
    default: "10000000000",
  },
  maxExposure: {
    flags: "--max-exposure <amount>",
    description:
      "most that all open theses may lose, of all solvers on the database, USDC with 6 decimals; " +
      "off if not given",
    schema: uint64Schema.optional(),
  },
  hedgeDelayMs: {
    flags: "--hedge-delay-ms <ms>",
    description: "how long the simulated hedge takes",
    schema: integerSchema(0, HEDGE_DELAY_MS_MAX),
    default: "50",
  },
  ...pricingOptions,
  maxStartAheadMs: {
    flags: "--max-start-ahead-ms <ms>",
    description: "latest start of a window from now; not with --pricing mock",
    schema: integerSchema(0, DAY_MS * 365),
    default: String(DAY_MS),
  },
  maxStartBehindMs: {
    flags: "--max-start-behind-ms <ms>",
    description: "earliest start of a window before now; not with --pricing mock",
    schema: integerSchema(0, DAY_MS),
    default: "60000",
  },
  maxDeadlineMs: {
    flags: "--max-deadline-ms <ms>",
    description: "longest life of a quote; not with --pricing mock",
    schema: integerSchema(1, DAY_MS),
    default: "300000",
  },
  host: hostOption,
  corsOrigins: corsOriginsOption,
  chainId: chainIdOption,
  database: databaseOption("SOLVER_DATABASE", "data/solver.sqlite"),
  ...limiterOptions,
  faultPoint: faultPointOption,
} satisfies OptionTable;

/** Options of the solver after parsing. */
export type SolverOptions = OptionsOf<typeof options>;
