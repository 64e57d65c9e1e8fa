/** The quote solver: a market maker that signs quotes for range bets and submits them. */
import { getLogger } from "@logtape/logtape";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { faultPointsAt, withFaultPoints } from "../../lib/fault_points.ts";
import { isFinal } from "../../lib/intents/intent.ts";
import { openIntentStore } from "../../lib/intents/open.ts";
import { Submitter } from "../../lib/intents/submitter.ts";
import { cached, NODE_ANSWER_MS } from "../../lib/net/cached.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { serviceCommand } from "../../lib/cli/command.ts";
import { signerFrom } from "../../lib/cli/keystore.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { RequestLimiter } from "../../lib/http/limiter.ts";
import type { Markets } from "../../lib/protocol/markets.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import { LOG_ROOT } from "../../lib/http/logging.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { answering } from "../../lib/http/openapi.ts";
import { type RunningService, startService } from "../../lib/http/service.ts";
import { createSolverApi } from "./api.ts";
import { decodeExecution } from "./execution/execution.ts";
import { Executor } from "./execution/executor.ts";
import { ExposureLimit } from "./risk/exposure_limit.ts";
import { SettledReservations } from "./execution/settled_reservations.ts";
import { ExposureBook } from "./risk/exposure_book.ts";
import { ExposureReader } from "./risk/exposure_reader.ts";
import { SimulatedHedge } from "./execution/hedge.ts";
import { HistoryReader } from "./market/history_reader.ts";
import { PreTradeChecks } from "./risk/pre_trade_checks.ts";
import { MarketData } from "./market/market_data.ts";
import { SolverMetrics } from "./metrics.ts";
import { NodeFeed } from "./market/node_feed.ts";
import { operations } from "./operations.ts";
import { options, type SolverOptions } from "./options.ts";
import { BarrierStrategy } from "./pricing/barrier_strategy.ts";
import { MockStrategy } from "./pricing/mock_strategy.ts";
import type { PricingStrategy, StrategyName } from "./pricing/strategy.ts";
import { QuoteSigner } from "./quoting/quote_signer.ts";
import { Quoter } from "./quoting/quoter.ts";
import { ReservationReconciler } from "./execution/reservation_reconciler.ts";

export { options, type SolverOptions };

/** How long the node may take to answer; below the deadline of a stop. */
const NODE_TIMEOUT_MS = 4_000;

/** A running solver. */
export type RunningSolver = RunningService;

/**
 * Starts the solver, and finishes the executions that its last run left unfinished.
 *
 * @throws {UsageError} If there is no key to sign with. @throws {KeystoreError} If it cannot be read.
 * @throws {StoreError} If the database cannot be used.
 * @throws {ListenError} If the port cannot be listened on.
 */
export async function startSolver(
  options: SolverOptions,
  clock: Clock = systemClock,
): Promise<RunningSolver> {
  const { host, port, chainId, maxRisk, dryRun } = options;
  const signer = await signerFrom(options, "--private-key or SOLVER_PRIVATE_KEY");
  const solver = signer.address;
  const markets = await readMarkets(options.markets);
  const registry = createRegistry(clock.now());
  const metrics = new SolverMetrics(registry, markets);
  const faults = faultPointsAt(options.faultPoint);
  const client = new CoreClient({ url: options.rpcUrl, timeoutMs: NODE_TIMEOUT_MS });
  const node = withFaultPoints("node", client, faults);
  const store = withFaultPoints("store", await openIntentStore(options.database, "solver"), faults);
  const exposure = new ExposureBook(options.maxExposure);
  metrics.watchExposure(exposure);
  const ownAccount = cached(() => client.getAccount(solver), NODE_ANSWER_MS, clock);
  metrics.watchAccount(ownAccount);
  const pricing = createPricing(options, markets, client, clock);
  const settled = new SettledReservations({ store, book: exposure, node: client, clock });
  const onThesis = (thesis: Thesis) => {
    exposure.apply(thesis);
    void settled.apply(thesis);
  };
  const follower = followNode(options, solver, client, clock, exposure, onThesis, pricing.book);
  const decode = (payload: string) => decodeExecution(payload).quote;
  const submitter: Submitter = new Submitter({
    store,
    node,
    clock,
    random: Math.random,
    log: getLogger([LOG_ROOT, "solver"]),
    sign: (intent) => executor.prepare(intent),
    observe(event, intent) {
      if (event !== "final" || !isFinal(intent.state)) return;
      metrics.executionEnded(intent.state);
      if (intent.state === "committed") metrics.betCommitted(decode(intent.payload));
    },
    ended: (intent) => executor.ended(intent),
  });
  const hedge = metrics.timed(
    withFaultPoints("hedge", new SimulatedHedge(clock, options.hedgeDelayMs), faults),
  );
  const checks = new PreTradeChecks({
    node,
    solver,
    clock,
    markets,
    maxRisk,
    hedgeMs: hedge.expectedMs,
    strategy: pricing.strategy,
    book: exposure,
  });
  const quoteSigner = new QuoteSigner(signer);
  const executor = new Executor({
    store,
    submitter,
    checks,
    exposure,
    limit: new ExposureLimit({ max: options.maxExposure, book: exposure, decode }),
    releaseSettled: cached(() => settled.reconcile(), NODE_ANSWER_MS, clock),
    hedge,
    quoteSigner,
    signer,
    chainId,
    clock,
    dryRun,
  });
  const reservations = new ReservationReconciler({ store, exposure, executor, settled, clock });
  const limiter = new RequestLimiter(options);
  const app = createSolverApi({
    quoter: new Quoter({
      strategy: pricing.strategy,
      signer: quoteSigner,
      solver,
      chainId,
      clock,
      markets,
      timeBounds: options.pricing === "mock" ? undefined : options,
    }),
    executor,
    exposure,
    metrics,
    limiter: limiter.handle,
    ownAccount,
    solver,
    chainId,
    dryRun,
    basePayoutMultiplier: options.multiplier,
    corsOrigins: options.corsOrigins,
    clock,
    markets,
  });
  const health = answering(operations.health, () => ({ status: "ok" as const, solver, dryRun }));
  // Begun first, so that no retry starts while open requests are finished.
  const drain = () => void submitter.stop();
  const close = async () => {
    await Promise.all([
      submitter.stop(),
      reservations.stop(),
      follower.stop(),
      pricing.stop(),
      limiter.stop(),
      metrics.stop(),
    ]);
    await store.close();
  };
  try {
    if (!dryRun) await executor.restore();
    const service = startService({
      name: "solver",
      host,
      port,
      app,
      health,
      registry,
      drain,
      close,
    });
    if (!dryRun) {
      submitter.start();
      reservations.start();
    }
    follower.start();
    pricing.start();
    if (!dryRun && options.pricing === "mock") warnOfMock();
    return service;
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** The default follows the specification; it is not a price. */
function warnOfMock(): void {
  getLogger([LOG_ROOT, "solver"]).warn(
    "--pricing mock pays 5 to 10 % for any range, also for one that cannot be left: use it for tests " +
      "only, and --pricing barrier with real money",
  );
}

/** Something that runs beside the requests. */
interface Running {
  start(): void;
  stop(): Promise<void>;
}

/** The strategy, and the reader that keeps its prices up to date. */
function createPricing(
  options: SolverOptions,
  markets: Markets,
  node: CoreClient,
  clock: Clock,
): Running & { strategy: PricingStrategy<StrategyName>; book: MarketData | undefined } {
  if (options.pricing === "mock") {
    const strategy = new MockStrategy(Math.random);
    return { strategy, book: undefined, start() {}, stop: () => Promise.resolve() };
  }
  const book = new MarketData({
    floor: options.volatilityFloor,
    minHistoryMs: options.volatilityHistoryMs,
  }, markets);
  const { margin, userLeadMs, maxPriceAgeMs, minDurationMs, minWidthTicks } = options;
  const strategy = new BarrierStrategy({
    marketView: book.of.bind(book),
    clock,
    markets,
    margin,
    userLeadMs,
    maxPriceAgeMs,
    minDurationMs,
    minWidthTicks,
  });
  const reader = new HistoryReader({ node, book, clock });
  return { strategy, book, start: () => reader.start(), stop: () => reader.stop() };
}

/** Follows the node's WebSocket: the solver's theses into its exposure, prices into the book. */
function followNode(
  { wsUrl }: SolverOptions,
  solver: Address,
  node: CoreClient,
  clock: Clock,
  exposure: ExposureBook,
  onThesis: (thesis: Thesis) => void,
  book: MarketData | undefined,
): Running {
  const reader = new ExposureReader({
    book: exposure,
    node,
    solver,
    clock,
    random: Math.random,
  });
  const feed = new NodeFeed({
    url: wsUrl,
    solver,
    clock,
    random: Math.random,
    handlers: {
      onSubscribed: () => reader.connected(),
      onLost: () => reader.lost(),
      onThesis,
      onPrices: (prices) => book?.takeSpots(prices, clock.now()),
    },
  });
  return {
    start: () => feed.start(),
    stop() {
      feed.stop();
      return reader.stop();
    },
  };
}

/** The `solver` subcommand; `solver backtest` is one of its own. */
export const run = serviceCommand({
  name: "solver",
  description: "Signs quotes for range bets, and submits the ones that users sign.",
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
  },
}, (given) => startSolver(given));
