/** The quote solver: a market maker that signs quotes for range bets and submits them. */
import type { Context } from "hono";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { type IntentService, problemFields } from "../../lib/intents/intent_service.ts";
import { cached, NODE_ANSWER_MS } from "../../lib/net/cached.ts";
import { serviceCommand } from "../../lib/cli/command.ts";
import { RequestLimiter } from "../../lib/http/limiter.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { documentedHandler } from "../../lib/http/openapi.ts";
import { type RunningService, startOrClose, startService } from "../../lib/http/service.ts";
import { createSolverApi } from "./api.ts";
import { executionLog } from "./execution_log.ts";
import type { ExposureLimit } from "./risk/exposure_limit.ts";
import { createExecution } from "./create_execution.ts";
import { followNode } from "./follow_node.ts";
import { openParts, type SolverParts } from "./open_parts.ts";
import { operations } from "./operations.ts";
import { options, type SolverOptions } from "./options.ts";
import { Quoter } from "./quoting/quoter.ts";
import { checkReadiness, type Readiness } from "./readiness.ts";

export { options, type SolverOptions };

/**
 * Starts the solver, and finishes the executions that its last run left unfinished.
 *
 * @throws {UsageError} If there is no key to sign with. @throws {KeystoreError} If it cannot be
 *   read.
 * @throws {StoreError} If the database cannot be used.
 * @throws {StrategyError} If the pricing strategy cannot be used.
 * @throws {ListenError} If the port cannot be listened on.
 */
export function startSolver(
  options: SolverOptions,
  clock: Clock = systemClock,
): Promise<RunningService> {
  return startOrClose((opened) => start(options, clock, opened));
}

async function start(
  options: SolverOptions,
  clock: Clock,
  opened: AsyncDisposableStack,
): Promise<RunningService> {
  const { host, port, allowedHosts, wsUrl, chainId, corsOrigins, multiplier, dryRun } = options;
  const parts = await openParts(options, clock, opened);
  const { markets, node, exposure, account, minimumBet, pricing, registry } = parts;
  const { marketData } = pricing;
  const solver = parts.signer.address;
  const { intents, executor, limit, reservations } = createExecution(options, parts);
  const { store } = intents;
  opened.defer(() => intents.stop());
  const follower = followNode({
    wsUrl,
    chainId,
    solver,
    node,
    clock,
    exposure,
    minimumBet,
    reservations: dryRun ? undefined : reservations,
    marketData,
  });
  opened.defer(() => follower.stop());
  const limiter = new RequestLimiter(options, registry);
  opened.defer(() => limiter.stop());
  const app = createSolverApi({
    quoter: createQuoter(options, parts, limit),
    executor,
    exposure,
    store,
    metrics: parts.metrics,
    limiter: limiter.handle,
    ownBalance: () => account.lastKnown(),
    checkReadiness: cached(() => readinessOf(options, parts, intents), NODE_ANSWER_MS, clock),
    calibration: () => marketData?.calibration(),
    solver,
    chainId,
    corsOrigins,
    dryRun,
    maxRisk: options.maxRisk,
    multiplier,
    clock,
    markets,
  });
  if (!dryRun) await store.refreshReservations(exposure);
  const service = startService({
    name: "solver",
    host,
    port,
    allowedHosts,
    app,
    health: healthRoute(intents, solver, dryRun),
    registry,
    drain: intents.stopSubmitting,
    close: () => opened.disposeAsync(),
  });
  if (!dryRun) intents.start();
  follower.start();
  pricing.start();
  const report = account.lastKnown().then((own) => {
    executionLog.started(options, solver, own);
    if (!dryRun && marketData === undefined) executionLog.mockPricing();
  });
  opened.defer(() => report);
  return service;
}

function createQuoter(options: SolverOptions, parts: SolverParts, limit: ExposureLimit): Quoter {
  const { maxStartAheadMs, maxStartBehindMs, maxDeadlineMs } = options;
  return new Quoter({
    strategy: parts.pricing.strategy,
    signer: parts.quoteSigner,
    solver: parts.signer.address,
    chainId: options.chainId,
    clock: parts.clock,
    markets: parts.markets,
    minimumBet: parts.minimumBet,
    limit,
    // Prices that are made up are the same at any time.
    timeBounds: parts.pricing.marketData && { maxStartAheadMs, maxStartBehindMs, maxDeadlineMs },
  });
}

function readinessOf(
  options: SolverOptions,
  parts: SolverParts,
  intents: IntentService,
): Promise<Readiness> {
  const { node, account, exposure, pricing } = parts;
  return checkReadiness({
    store: intents.store,
    problem: intents.problem,
    node,
    account: account.read,
    exposure,
    symbolsWithoutPrice: () => pricing.marketData?.symbolsWithoutPrice() ?? [],
    chainId: options.chainId,
    wsUrl: options.wsUrl,
    dryRun: options.dryRun,
  });
}

function healthRoute({ problem }: IntentService, solver: Address, dryRun: boolean) {
  return documentedHandler(operations.health, async (c: Context) => {
    // A dry run needs neither store nor node.
    const found = dryRun ? undefined : await problem();
    if (found === undefined) return c.json({ status: "ok", solver, dryRun });
    return c.json({ status: "failed", ...problemFields(found), solver, dryRun }, 503);
  });
}

/** The `solver` subcommand. */
export const run = serviceCommand({
  name: "solver",
  description: "Signs quotes for range bets, and submits the quotes that users sign too.",
  options,
  examples: [
    ["rangemaker solver", "with the solver's key in SOLVER_PRIVATE_KEY"],
    [
      "rangemaker solver --keystore solver.json --keystore-password-file password",
      "with the key from an encrypted keystore",
    ],
    ["rangemaker solver --dry-run", "quotes and estimates only"],
    [
      "rangemaker solver backtest --tape trades.csv",
      "what mock and barrier earn on recorded trades",
    ],
    ["rangemaker solver --pricing barrier --margin 0.05", "prices by a model of the market"],
  ],
  subcommands: {
    backtest: {
      summary: "what mock and barrier would have earned on recorded trades",
      open: () => import("./backtest/command.ts"),
    },
    deposit: {
      summary: "USDC for the account of the solver's key, by the bridge",
      open: () => import("./deposit.ts"),
    },
    reconcile: {
      summary: "ends the bets that a restored core node lacks",
      open: () => import("./execution/reconcile.ts"),
    },
  },
}, (given) => startSolver(given));
