/** Creates each part of the solver once, in order, with what it needs. */
import type { Context } from "hono";
import type { Registry } from "prom-client";
import { openLocalSigner } from "../../lib/cli/keystore.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { optionLabel } from "../../lib/cli/options.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { RequestLimiter } from "../../lib/http/limiter.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { documentedHandler } from "../../lib/http/openapi.ts";
import { type RunningService, startOrClose, startService } from "../../lib/http/service.ts";
import { openIntentResources } from "../../lib/intents/intent_resources.ts";
import { type IntentService, problemFields } from "../../lib/intents/intent_service.ts";
import { createCachedCall, NODE_ANSWER_MS } from "../../lib/net/cached.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { createSolverApi } from "./api.ts";
import { createPricing } from "./create_pricing.ts";
import { createTrading } from "./create_trading.ts";
import { executionLog } from "./shared/execution_log.ts";
import { decodeBet } from "./execution/execution.ts";
import { createNodeFollower } from "./node_follower.ts";
import { reportAccount, reportCalibration, reportExposure } from "./gauges.ts";
import { SolverMetrics } from "./metrics.ts";
import { operations } from "./operations.ts";
import { options as optionTable, type SolverOptions } from "./options.ts";
import { OwnAccount } from "./own_account.ts";
import { checkReadiness } from "./readiness.ts";
import { ExposureBook } from "./risk/exposure_book.ts";

const NAME = "solver";

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
  return startOrClose((opened) => startParts(options, clock, opened));
}

/** Opens what quoting works with. @param opened Gets each part that must be stopped. */
async function openParts(
  options: SolverOptions,
  registry: Registry,
  clock: Clock,
  opened: AsyncDisposableStack,
) {
  const { dryRun, chainId, database, rpcUrl } = options;
  const markets = await readMarkets(options.markets);
  const metrics = new SolverMetrics(registry, markets);
  const signer = await openLocalSigner(options, optionLabel(optionTable.privateKey));
  const bindsKey = !dryRun;
  const settings = { name: NAME, database, rpcUrl, signer, chainId, bindsKey, clock };
  const resources = await openIntentResources(settings);
  const { store, node } = resources;
  opened.defer(() => store.close());

  const exposure = new ExposureBook(options.maxExposure, decodeBet);
  reportExposure(registry, exposure);
  const account = new OwnAccount(node, signer.address, clock);
  opened.defer(reportAccount(registry, account.read));
  const pricing = await createPricing(options, { markets, node, clock, exposure, store });
  opened.defer(() => pricing.stop());
  reportCalibration(registry, () => pricing.marketData?.calibration() ?? []);
  return { markets, metrics, signer, resources, exposure, account, pricing };
}

async function startParts(
  options: SolverOptions,
  clock: Clock,
  opened: AsyncDisposableStack,
): Promise<RunningService> {
  const { dryRun, chainId, wsUrl } = options;
  const registry = createRegistry();
  const parts = await openParts(options, registry, clock, opened);
  const { markets, metrics, signer, resources, exposure, account, pricing } = parts;
  const { store, node } = resources;
  const { marketData } = pricing;
  const solver = signer.address;

  const { quoter, executor, intents, reservations } = createTrading(options, {
    ...parts,
    registry,
  });
  opened.defer(() => intents.stop());
  const follower = createNodeFollower({
    wsUrl,
    chainId,
    solver,
    node,
    clock,
    exposure,
    quoter,
    reservations: dryRun ? undefined : reservations,
    marketData,
  });
  opened.defer(() => follower.stop());

  const limiter = new RequestLimiter(options, registry);
  opened.defer(() => limiter.stop());
  const readiness = () =>
    checkReadiness({ intents, node, account, exposure, marketData, chainId, wsUrl, dryRun });
  const app = createSolverApi({
    quoter,
    executor,
    exposure,
    store,
    metrics,
    limiter: limiter.handle,
    ownBalance: () => account.lastKnown(),
    checkReadiness: createCachedCall(readiness, NODE_ANSWER_MS, clock),
    calibration: () => marketData?.calibration(),
    solver,
    chainId,
    corsOrigins: options.corsOrigins,
    dryRun,
    maxRisk: options.maxRisk,
    multiplier: options.multiplier,
    clock,
    markets,
  });

  if (!dryRun) await store.refreshReservations(exposure);
  const service = startService({
    name: NAME,
    host: options.host,
    allowedHosts: options.allowedHosts,
    port: options.port,
    app,
    health: healthRoute(intents, solver, dryRun),
    registry,
    drain: intents.stopSubmitting,
    close: () => opened.disposeAsync(),
  });
  if (!dryRun) intents.start();
  follower.start();
  pricing.start();
  const report = logStart(options, account, solver);
  opened.defer(() => report);
  return service;
}

/** Logs the start, with the balance if the node answers. */
async function logStart(options: SolverOptions, account: OwnAccount, solver: Address) {
  const { pricing, maxRisk, maxExposure, chainId, rpcUrl, database, dryRun } = options;
  const { balance, readAtMs } = await account.lastKnown();
  executionLog.started({
    address: solver,
    balance: readAtMs === null ? null : balance,
    pricing,
    maxRisk,
    maxExposure,
    chainId,
    rpcUrl,
    database,
    dryRun,
  });
  if (!dryRun && pricing === "mock") executionLog.mockPricing();
}

function healthRoute({ problem }: IntentService, solver: Address, dryRun: boolean) {
  return documentedHandler(operations.health, async (c: Context) => {
    // A dry run needs neither store nor node.
    const found = dryRun ? undefined : await problem();
    if (found === undefined) return c.json({ status: "ok", solver, dryRun });
    return c.json({ status: "failed", ...problemFields(found), solver, dryRun }, 503);
  });
}
