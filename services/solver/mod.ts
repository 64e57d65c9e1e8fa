/** The quote solver: a market maker that signs quotes for range bets and submits them. */
import type { Context } from "hono";
import { createServiceCommand } from "../../lib/cli/command.ts";
import { openLocalSigner } from "../../lib/cli/keystore.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { RequestLimiter } from "../../lib/http/limiter.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { documentedHandler } from "../../lib/http/openapi.ts";
import { type RunningService, startOrClose, startService } from "../../lib/http/service.ts";
import { openIntentResources } from "../../lib/intents/intent_resources.ts";
import type { IntentService } from "../../lib/intents/intent_service.ts";
import { createCachedCall } from "../../lib/timing/cached.ts";
import { NODE_ANSWER_CACHED_MS } from "../../lib/net/core_reader.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { createSolverApi } from "./api.ts";
import { openPricing } from "./open_pricing.ts";
import { createTrading, type SolverParts, type Trading } from "./create_trading.ts";
import { solverLog } from "./shared/solver_log.ts";
import { decodeBet } from "./execution/execution.ts";
import { createNodeFollower } from "./node_follower.ts";
import {
  registerAccount,
  registerCalibration,
  registerExposure,
  SolverMetrics,
} from "./metrics.ts";
import { operations } from "./operations.ts";
import { options as optionTable, type SolverOptions } from "./options.ts";
import { OwnAccount } from "./own_account.ts";
import { checkReadiness } from "./readiness.ts";
import { ExposureBook } from "./risk/exposure_book.ts";

export { optionTable as options, type SolverOptions };

const NAME = "solver";

/**
 * Starts the solver, and finishes the executions that its last run left unfinished.
 *
 * @throws {UsageError} If there is no key to sign with.
 * @throws {KeystoreError} If it cannot be read.
 * @throws {StoreError} If the database cannot be used.
 * @throws {StrategyError} If the pricing strategy cannot be used.
 * @throws {ListenError} If the port cannot be listened on.
 */
export function startSolver(
  options: SolverOptions,
  clock: Clock = systemClock,
): Promise<RunningService> {
  return startOrClose((cleanup) => startWith(options, clock, cleanup));
}

/** Opens what everything else is created from. @param cleanup Gets what must be stopped. */
async function openParts(
  options: SolverOptions,
  clock: Clock,
  cleanup: AsyncDisposableStack,
): Promise<SolverParts> {
  const registry = createRegistry();
  const markets = await readMarkets(options.markets);
  const metrics = new SolverMetrics(registry, markets);
  const signer = await openLocalSigner(options, optionTable);
  const storeKey = options.dryRun ? "ignore" : "bind";
  const resources = await openIntentResources({ ...options, name: NAME, signer, storeKey, clock });
  const { store, shortTimeoutNode } = resources;
  cleanup.defer(() => store.close());

  const exposure = new ExposureBook(options.maxExposure, decodeBet);
  registerExposure(registry, exposure);
  const account = new OwnAccount(shortTimeoutNode, signer.address, clock);
  registerAccount(registry, account.read);
  const pricing = await openPricing(options, { ...resources, markets, exposure });
  cleanup.defer(() => pricing.stop());
  registerCalibration(registry, () => pricing.marketData?.calibration() ?? []);
  return { ...resources, registry, markets, metrics, signer, exposure, account, pricing };
}

async function startWith(
  options: SolverOptions,
  clock: Clock,
  cleanup: AsyncDisposableStack,
): Promise<RunningService> {
  const { dryRun } = options;
  const parts = await openParts(options, clock, cleanup);
  const trading = createTrading(options, parts);
  const { registry, node, exposure, account, pricing } = parts;
  const { intents } = trading;
  const solver = parts.signer.address;
  cleanup.defer(() => intents.stop());
  const follower = createNodeFollower({
    ...options,
    solver,
    node,
    clock,
    exposure,
    exposureLimit: trading.exposureLimit,
    quoter: trading.quoter,
    releaser: dryRun ? undefined : trading.releaser,
    marketData: pricing.marketData,
  });
  cleanup.defer(() => follower.stop());
  const limiter = new RequestLimiter(options, registry);
  cleanup.defer(() => limiter.stop());
  const app = createApi(options, parts, trading, limiter);

  if (!dryRun) await trading.reservations.refresh();
  const service = startService({
    ...options,
    name: NAME,
    app,
    health: createHealthRoute(intents, solver, dryRun),
    registry,
    drain: intents.stopSubmitting,
    close: () => cleanup.disposeAsync(),
  });
  if (!dryRun) intents.start();
  follower.start();
  pricing.start();
  const report = logStart(options, account, solver);
  // A stop waits until the start is logged.
  cleanup.defer(() => report);
  return service;
}

function createApi(
  options: SolverOptions,
  parts: SolverParts,
  { quoter, executor, intents }: Trading,
  limiter: RequestLimiter,
) {
  const { account, exposure, metrics, markets, clock } = parts;
  const { marketData } = parts.pricing;
  const readiness = () =>
    checkReadiness({
      ...options,
      store: parts.store,
      findProblem: intents.findProblem,
      node: parts.shortTimeoutNode,
      account,
      exposure,
      marketData,
      clock,
    });
  return createSolverApi({
    ...options,
    quoter,
    executor,
    exposure,
    metrics,
    limiter: limiter.handle,
    ownBalance: () => account.lastKnown(),
    checkReadiness: createCachedCall(readiness, NODE_ANSWER_CACHED_MS, clock),
    calibration: () => marketData?.calibration(),
    solver: parts.signer.address,
    clock,
    markets,
  });
}

/** Logs the start, with the balance if the node answers. */
async function logStart(options: SolverOptions, account: OwnAccount, solver: Address) {
  const { balance, readAtMs } = await account.lastKnown();
  const known = readAtMs === null ? null : balance;
  solverLog.started({ ...options, address: solver, balance: known });
  if (!options.dryRun && options.pricing === "mock") solverLog.mockPricing();
}

function createHealthRoute({ findProblem }: IntentService, solver: Address, dryRun: boolean) {
  return documentedHandler(operations.health, async (c: Context) => {
    // A dry run needs neither store nor node.
    const found = dryRun ? undefined : await findProblem();
    if (found === undefined) return c.json({ status: "ok", solver, dryRun });
    const { code, message: reason } = found;
    return c.json({ status: "failed", code, reason, solver, dryRun }, 503);
  });
}

/** The `solver` subcommand. */
export const run = createServiceCommand({
  name: NAME,
  description: "Signs quotes for range bets, and submits the quotes that users sign too.",
  options: optionTable,
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
      load: () => import("./backtest/command.ts"),
    },
    deposit: {
      summary: "USDC for the account of the solver's key, by the bridge",
      load: () => import("./deposit.ts"),
    },
    reconcile: {
      summary: "ends the bets that a restored core node lacks",
      load: () => import("./reconcile.ts"),
    },
  },
}, (options) => startSolver(options));
