/** The quote solver: a market maker that signs quotes for range bets and submits them. */
import { type Clock, systemClock } from "../../lib/clock.ts";
import { CoreClient } from "../../lib/core_client.ts";
import { type RunnableCommand, serviceCommand } from "../../lib/service/command.ts";
import { createRegistry } from "../../lib/service/metrics.ts";
import { type RunningService, startService } from "../../lib/service/service.ts";
import { isFinal } from "../../lib/store/intent.ts";
import { openIntentStore } from "../../lib/store/open.ts";
import { Submitter } from "../../lib/submitter.ts";
import { createSolverApi } from "./api.ts";
import { Executor } from "./executor.ts";
import { SimulatedHedge } from "./hedge.ts";
import { HistoryReader } from "./history_reader.ts";
import { MarketBook } from "./market_book.ts";
import { SolverMetrics } from "./metrics.ts";
import { NodeFeed } from "./node_feed.ts";
import { options, type SolverOptions } from "./options.ts";
import { BarrierStrategy } from "./pricing/barrier_strategy.ts";
import { MockStrategy } from "./pricing/mock_strategy.ts";
import type { PricingStrategy } from "./pricing/strategy.ts";
import { Quoter } from "./quoter.ts";

export { options, type SolverOptions };

/** How long the node may take to answer; below the deadline of a stop. */
const NODE_TIMEOUT_MS = 4_000;

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
  const book = new MarketBook({
    halfLifeMs: options.volatilityHalfLifeMs,
    floor: options.volatilityFloor,
    minHistoryMs: options.volatilityHistoryMs,
  });
  const strategy = createStrategy(options, book, clock);
  const history = new HistoryReader({ node, book, clock });
  const feed = new NodeFeed({
    url: options.wsUrl,
    solver: signer.address,
    clock,
    random: Math.random,
    handlers: {
      onSubscribed() {},
      onLost() {},
      onThesis() {},
      onPrices: (prices) => book.takeSpots(prices, clock.now()),
    },
  });
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
    feed.stop();
    await Promise.all([submitter.stop(), history.stop()]);
    await store.close();
  };
  try {
    const service = startService({ name: "solver", host, port, app, health, registry, close });
    if (!dryRun) submitter.start();
    if (strategy.name === "barrier") {
      feed.start();
      history.start();
    }
    return service;
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

function createStrategy(
  options: SolverOptions,
  book: MarketBook,
  clock: Clock,
): PricingStrategy {
  if (options.pricing === "mock") return new MockStrategy(Math.random);
  const { margin, vegaCharge, maxPriceAgeMs } = options;
  const marketView = book.of.bind(book);
  return new BarrierStrategy({ marketView, clock, margin, vegaCharge, maxPriceAgeMs });
}

const serve = serviceCommand({
  name: "solver",
  description: "Signs quotes for range bets, and submits those that the user has signed too.",
  options,
  examples: [
    ["rangemaker solver", "with the solver's key in SOLVER_PRIVATE_KEY"],
    ["rangemaker solver --dry-run", "quotes and estimates only"],
    [
      "rangemaker solver backtest --tape trades.csv",
      "what mock and barrier earn on recorded trades",
    ],
    ["rangemaker solver --pricing barrier --margin 0.05", "prices by a model of the market"],
  ],
}, startSolver);

/** The `solver` subcommand; `solver backtest` is one of its own. */
export const run: RunnableCommand = async (argv, context) => {
  const [first, ...rest] = argv;
  if (first !== "backtest") return await serve(argv, context);
  const backtest = await import("./backtest/command.ts");
  return await backtest.run(rest, context);
};
