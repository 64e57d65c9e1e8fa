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
import { ChainGuard } from "../../lib/intents/chain_guard.ts";
import { type IntentBackend, openIntentBackend } from "../../lib/intents/backend.ts";
import { IntentService, problemFields } from "../../lib/intents/intent_service.ts";
import type { IntentHandler } from "../../lib/intents/submitter.ts";
import { cached, NODE_ANSWER_MS } from "../../lib/net/cached.ts";
import type { Markets } from "../../lib/protocol/markets.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import type { LocalSigner } from "../../lib/protocol/signature.ts";
import { createSolverApi } from "./api.ts";
import { createPricing, type Pricing } from "./create_pricing.ts";
import { executionLog } from "./shared/execution_log.ts";
import { decodeBet, decodeExecution, findThesis } from "./execution/execution.ts";
import { ExecutionHandler } from "./execution/execution_handler.ts";
import { Executor } from "./execution/executor.ts";
import { type Hedge, HttpHedge, SimulatedHedge } from "./execution/hedge.ts";
import { Reservations } from "./execution/reservations.ts";
import { createNodeFollower } from "./node_follower.ts";
import { reportAccount, reportCalibration, reportExposure } from "./gauges.ts";
import { MinimumBet } from "./shared/limits.ts";
import { SolverMetrics } from "./metrics.ts";
import { operations } from "./operations.ts";
import { options as optionTable, type SolverOptions } from "./options.ts";
import { OwnAccount } from "./own_account.ts";
import { QuoteSigner } from "./quoting/quote_signer.ts";
import { Quoter } from "./quoting/quoter.ts";
import { checkReadiness } from "./readiness.ts";
import { ExposureBook } from "./risk/exposure_book.ts";
import { ExposureLimit } from "./risk/exposure_limit.ts";
import { PreTradeChecks } from "./risk/pre_trade_checks.ts";

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

/** @param opened Gets each part that must be stopped. */
async function start(
  options: SolverOptions,
  clock: Clock,
  opened: AsyncDisposableStack,
): Promise<RunningService> {
  const name = "solver";
  const { dryRun } = options;
  const registry = createRegistry();
  const markets = await readMarkets(options.markets);
  const metrics = new SolverMetrics(registry, markets);
  const signer = await openLocalSigner(options, optionLabel(optionTable.privateKey));
  const solver = signer.address;
  const backend = await openIntentBackend({ ...options, name, signer, bindsKey: !dryRun, clock });
  const { store, node } = backend;
  opened.defer(() => store.close());

  const exposure = new ExposureBook(options.maxExposure, decodeBet);
  reportExposure(registry, exposure);
  const account = new OwnAccount(node, solver, clock);
  opened.defer(reportAccount(registry, account.read));
  const pricing = await createPricing(options, { markets, node, clock, exposure, store });
  const { marketData } = pricing;
  opened.defer(() => pricing.stop());
  reportCalibration(registry, () => marketData?.calibration() ?? []);

  const minimumBet = new MinimumBet();
  const { quoter, executor, intents, reservations } = createTrading(options, {
    backend,
    signer,
    markets,
    pricing,
    exposure,
    minimumBet,
    metrics,
    registry,
  });
  opened.defer(() => intents.stop());
  const follower = createNodeFollower({
    ...options,
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
  const readiness = () =>
    checkReadiness({ ...options, intents, node, account, exposure, marketData });
  const app = createSolverApi({
    ...options,
    quoter,
    executor,
    exposure,
    store,
    metrics,
    limiter: limiter.handle,
    ownBalance: () => account.lastKnown(),
    checkReadiness: cached(readiness, NODE_ANSWER_MS, clock),
    calibration: () => marketData?.calibration(),
    solver,
    clock,
    markets,
  });

  if (!dryRun) await store.refreshReservations(exposure);
  const service = startService({
    ...options,
    name,
    app,
    health: healthRoute(intents, solver, dryRun),
    registry,
    drain: intents.stopSubmitting,
    close: () => opened.disposeAsync(),
  });
  if (!dryRun) intents.start();
  follower.start();
  pricing.start();
  const report = account.lastKnown().then(({ balance, readAtMs }) => {
    executionLog.started({
      address: solver,
      balance: readAtMs === null ? null : balance,
      pricing: options.pricing,
      maxRisk: options.maxRisk,
      maxExposure: options.maxExposure,
      chainId: options.chainId,
      rpcUrl: options.rpcUrl,
      database: options.database,
      dryRun,
    });
    if (!dryRun && marketData === undefined) executionLog.mockPricing();
  });
  opened.defer(() => report);
  return service;
}

/** What quoting and executing share with the rest of the solver. */
interface TradingInputs {
  backend: IntentBackend;
  signer: LocalSigner;
  markets: Markets;
  pricing: Pricing;
  exposure: ExposureBook;
  minimumBet: MinimumBet;
  metrics: SolverMetrics;
  registry: Registry;
}

/** Creates what quotes bets, and what checks, reserves, hedges and submits the signed ones. */
function createTrading(
  options: SolverOptions,
  { backend, signer, markets, pricing, exposure, minimumBet, metrics, registry }: TradingInputs,
) {
  const { chainId, maxRisk } = options;
  const { strategy, marketData } = pricing;
  const { store, node, clock } = backend;
  const solver = signer.address;
  const quoteSigner = new QuoteSigner(signer);
  const limit = new ExposureLimit({
    book: exposure,
    refreshBook: () => store.refreshReservations(exposure),
    onNear: executionLog.exposure,
  });
  const quoter = new Quoter({
    strategy,
    signer: quoteSigner,
    chainId,
    clock,
    markets,
    minimumBet,
    limit,
    // Prices that are made up are the same at any time.
    timeBounds: marketData && options,
  });
  const guard = new ChainGuard({
    ...backend,
    node: backend.shortTimeoutNode,
    async isOnChain(intent) {
      const found = await findThesis(node, intent, clock.now());
      return found !== "missing" && found !== "rewound";
    },
  });
  const reservations = new Reservations({
    store,
    book: exposure,
    node,
    requireChain: () => guard.requireChain(),
    clock,
    onOutcome: (probability, thesis) => metrics.betSettled(probability, thesis),
  });
  const hedge = createHedge(options, clock, metrics);
  const hedgeMs = hedge.expectedMs;
  const checks = new PreTradeChecks({ node, solver, clock, markets, maxRisk, hedgeMs, strategy });
  const handler = new ExecutionHandler({
    checks,
    exposure,
    hedge,
    quoteSigner,
    chainId,
    clock,
    onRecheck: metrics.rechecked,
  });
  const intents = new IntentService({
    backend,
    guard,
    handler: intentHandler(handler, reservations, metrics),
    retainMs: options.retain,
    registry,
  });
  const executor = new Executor({
    intents,
    handler,
    checks,
    limit,
    releaseSettled: cached(() => reservations.reconcile(), NODE_ANSWER_MS, clock),
    quoteSigner,
    chainId,
    clock,
  });
  return { quoter, executor, intents, reservations };
}

/** Prepares executions, and tells the other parts of the solver how they end. */
function intentHandler(
  handler: ExecutionHandler,
  reservations: Reservations,
  metrics: SolverMetrics,
): IntentHandler {
  return {
    termsOf: (intent) => handler.termsOf(intent),
    beforeSigning: (intent) => handler.prepare(intent),
    onFinished(intent) {
      metrics.executionFinished(intent);
      const { quote } = decodeExecution(intent.payload);
      if (intent.state === "committed") metrics.betCommitted(quote);
      else handler.onFailed(intent, quote);
      executionLog.finished(intent);
    },
    onFinalStateSeen: (intent) => reservations.onExecutionFinished(intent),
  };
}

function createHedge(options: SolverOptions, clock: Clock, metrics: SolverMetrics): Hedge {
  const { hedgeUrl: url, hedgeDelayMs: expectedMs, hedgeTimeoutMs: timeoutMs } = options;
  const hedge = url === undefined
    ? new SimulatedHedge(clock, expectedMs)
    : new HttpHedge({ url, expectedMs, timeoutMs });
  return metrics.timeHedge(hedge);
}

function healthRoute({ problem }: IntentService, solver: Address, dryRun: boolean) {
  return documentedHandler(operations.health, async (c: Context) => {
    // A dry run needs neither store nor node.
    const found = dryRun ? undefined : await problem();
    if (found === undefined) return c.json({ status: "ok", solver, dryRun });
    return c.json({ status: "failed", ...problemFields(found), solver, dryRun }, 503);
  });
}
