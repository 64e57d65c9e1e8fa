/** The quote solver: a market maker that signs quotes for range bets and submits them. */
import type { Context } from "hono";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { IntentService, problemFields } from "../../lib/intents/intent_service.ts";
import { cached, NODE_ANSWER_MS } from "../../lib/net/cached.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { serviceCommand } from "../../lib/cli/command.ts";
import { openLocalSigner } from "../../lib/cli/keystore.ts";
import { RequestLimiter } from "../../lib/http/limiter.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { documentedHandler } from "../../lib/http/openapi.ts";
import { type RunningService, startOrClose, startService } from "../../lib/http/service.ts";
import { createSolverApi, type SolverApiOptions } from "./api.ts";
import { executionLog } from "./execution_log.ts";
import { decodeBet } from "./execution/execution.ts";
import type { Executor } from "./execution/executor.ts";
import { ExposureBook } from "./risk/exposure_book.ts";
import type { ExposureLimit } from "./risk/exposure_limit.ts";
import { createExecution } from "./create_execution.ts";
import { createPricing, type Pricing } from "./create_pricing.ts";
import { followNode } from "./follow_node.ts";
import { reportAccount, reportCalibration, reportExposure } from "./gauges.ts";
import { SolverMetrics } from "./metrics.ts";
import { operations } from "./operations.ts";
import { MinimumBet } from "./limits.ts";
import { options, type SolverOptions } from "./options.ts";
import { OwnAccount } from "./own_account.ts";
import { QuoteSigner } from "./quoting/quote_signer.ts";
import { Quoter } from "./quoting/quoter.ts";
import { checkReadiness } from "./readiness.ts";

export { options, type SolverOptions };

/**
 * Starts the solver, and finishes the executions that its last run left unfinished.
 *
 * @throws {UsageError} If there is no key to sign with. @throws {KeystoreError} If it cannot be read.
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
  const { chainId, dryRun } = options;
  const signer = await openLocalSigner(options, "--private-key or SOLVER_PRIVATE_KEY");
  const solver = signer.address;
  const markets = await readMarkets(options.markets);
  const registry = createRegistry();
  const metrics = new SolverMetrics(registry, markets, clock);
  opened.defer(() => metrics.stop());
  const node = new CoreClient({ url: options.rpcUrl });
  const intents = await IntentService.open({
    ...options,
    name: "solver",
    signer,
    clock,
    registry,
    bindsKey: !dryRun,
  });
  opened.defer(() => intents.close());
  const { store, drain } = intents;
  const exposure = new ExposureBook(options.maxExposure, decodeBet);
  reportExposure(registry, exposure);
  const account = new OwnAccount(node, solver, clock);
  opened.defer(reportAccount(registry, account.read));
  const pricing = await createPricing(options, { markets, node, clock, exposure, store });
  opened.defer(() => pricing.stop());
  const { strategy, marketData } = pricing;
  reportCalibration(registry, () => marketData?.calibration() ?? []);
  const quoteSigner = new QuoteSigner(signer);
  const { executor, limit, reservations, handler } = createExecution(options, {
    intents,
    signer,
    quoteSigner,
    markets,
    strategy,
    exposure,
    clock,
    backgroundNode: node,
  }, metrics);
  const minimumBet = new MinimumBet();
  const follower = followNode({
    wsUrl: options.wsUrl,
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
  const parts = { clock, markets, node, intents, account, exposure, metrics, pricing, executor };
  const app = createApp(options, { ...parts, solver, quoteSigner, minimumBet, limit, limiter });
  if (!dryRun) await store.refreshReservations(exposure);
  const service = startService({
    ...options,
    name: "solver",
    app,
    health: healthRoute(intents, solver, dryRun),
    registry,
    drain,
    close: () => opened.disposeAsync(),
  });
  if (!dryRun) intents.start(handler);
  follower.start();
  pricing.start();
  const report = account.lastKnown().then((own) => executionLog.started(options, solver, own));
  opened.defer(() => report);
  return service;
}

interface AppParts extends Pick<SolverApiOptions, "clock" | "markets" | "exposure" | "metrics"> {
  solver: Address;
  node: CoreClient;
  intents: IntentService;
  account: OwnAccount;
  pricing: Pricing;
  executor: Executor;
  quoteSigner: QuoteSigner;
  minimumBet: MinimumBet;
  limit: ExposureLimit;
  limiter: RequestLimiter;
}

function createApp(options: SolverOptions, parts: AppParts) {
  const { clock, node, intents, account, exposure, pricing } = parts;
  const { strategy, marketData } = pricing;
  const readiness = () =>
    checkReadiness({
      ...options,
      store: intents.store,
      problem: intents.problem,
      node,
      account: account.read,
      exposure,
      symbolsWithoutPrice: () => marketData?.symbolsWithoutPrice() ?? [],
    });
  const quoter = new Quoter({
    ...parts,
    chainId: options.chainId,
    strategy,
    signer: parts.quoteSigner,
    timeBounds: options.pricing === "mock" ? undefined : options,
  });
  return createSolverApi({
    ...options,
    ...parts,
    store: intents.store,
    quoter,
    calibration: () => marketData?.calibration(),
    limiter: parts.limiter.handle,
    ownBalance: () => account.lastKnown(),
    checkReadiness: cached(readiness, NODE_ANSWER_MS, clock),
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
