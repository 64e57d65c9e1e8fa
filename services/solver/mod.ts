/** The quote solver: a market maker that signs quotes for range bets and submits them. */
import { z } from "zod";
import { systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/core_client.ts";
import { uint64Schema } from "../../lib/protocol/scalars.ts";
import { serviceCommand } from "../../lib/service/command.ts";
import { createRegistry } from "../../lib/service/metrics.ts";
import {
  chainIdOption,
  hostOption,
  httpUrlSchema,
  integerSchema,
  portSchema,
  privateKeySchema,
  switchSchema,
  wsUrlSchema,
} from "../../lib/service/option_types.ts";
import type { OptionsOf, OptionTable } from "../../lib/service/options.ts";
import { type RunningService, startService } from "../../lib/service/service.ts";
import { isFinal } from "../../lib/store/intent.ts";
import { databaseOption, openIntentStore } from "../../lib/store/open.ts";
import { Submitter } from "../../lib/submitter.ts";
import { createSolverApi } from "./api.ts";
import { Executor } from "./executor.ts";
import { SimulatedHedge } from "./hedge.ts";
import { SolverMetrics } from "./metrics.ts";
import { MockStrategy } from "./mock_strategy.ts";
import { Quoter } from "./quoter.ts";

/** How long the node may take to answer; below the deadline of a stop. */
const NODE_TIMEOUT_MS = 4_000;

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
  rpcUrl: {
    flags: "-r, --rpc-url <url>",
    env: "KAIZEN_RPC_URL",
    description: "core node RPC URL",
    schema: httpUrlSchema,
    default: "http://localhost:8545",
  },
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
  hedgeDelayMs: {
    flags: "--hedge-delay-ms <ms>",
    description: "how long the simulated hedge takes",
    schema: integerSchema(0, HEDGE_DELAY_MS_MAX),
    default: "50",
  },
  host: hostOption,
  chainId: chainIdOption,
  database: databaseOption("SOLVER_DATABASE", "data/solver.sqlite"),
} satisfies OptionTable;

/** Options of {@link startSolver}. */
export type SolverOptions = OptionsOf<typeof options>;

/** A running solver. */
export type RunningSolver = RunningService;

/**
 * Starts the solver and takes up the executions that its last run left unfinished.
 *
 * @throws {StoreError} If the database cannot be used.
 * @throws {ListenError} If the port cannot be had.
 */
export async function startSolver(options: SolverOptions): Promise<RunningSolver> {
  const { host, port, rpcUrl, chainId, privateKey: signer, maxRisk, dryRun } = options;
  const clock = systemClock;
  const registry = createRegistry(clock.now());
  const metrics = new SolverMetrics(registry);
  const node = new CoreClient({ url: rpcUrl, timeoutMs: NODE_TIMEOUT_MS });
  const store = await openIntentStore(options.database);
  const submitter: Submitter = new Submitter({
    store,
    node,
    clock,
    random: Math.random,
    sign: (intent) => executor.prepare(intent),
    observe(event, { state }) {
      if (event === "final" && isFinal(state)) metrics.executionEnded(state);
    },
  });
  const hedge = new SimulatedHedge(clock, options.hedgeDelayMs);
  const strategy = new MockStrategy(Math.random);
  const quoter = new Quoter({ strategy, signer, chainId, maxRisk });
  const executor = new Executor({
    store,
    submitter,
    node,
    hedge,
    signer,
    chainId,
    clock,
    maxRisk,
    dryRun,
  });
  const solver = signer.address;
  const app = createSolverApi({
    quoter,
    executor,
    node,
    solver,
    chainId,
    dryRun,
    basePayoutMultiplier: options.multiplier,
    clock,
  });
  const health = () => Response.json({ status: "ok", solver, dryRun });
  const close = async () => {
    await submitter.stop();
    await store.close();
  };
  try {
    const service = startService({ name: "solver", host, port, app, health, registry, close });
    if (!dryRun) submitter.start();
    return service;
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** The `solver` subcommand. */
export const run = serviceCommand({
  name: "solver",
  description: "Signs quotes for range bets, and submits those that the user has signed too.",
  options,
  examples: [
    ["rangemaker solver", "with the solver's key in SOLVER_PRIVATE_KEY"],
    ["rangemaker solver --dry-run", "quotes and estimates only"],
  ],
}, startSolver);
