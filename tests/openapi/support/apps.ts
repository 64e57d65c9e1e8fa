/** The routes of each service on their own, with nothing behind them. */
import type { Handler, Hono, MiddlewareHandler } from "hono";
import { Registry } from "prom-client";
import { withDefaults } from "../../../lib/cli/options.ts";
import { systemClock } from "../../../lib/clock.ts";
import type { RunningService } from "../../../lib/http/service.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import type { IntentStore } from "../../../lib/intents/store.ts";
import { MARKETS, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { decodeBet } from "../../../services/solver/execution/execution.ts";
import type { Executor } from "../../../services/solver/execution/executor.ts";
import { createBridgeApi } from "../../../services/bridge/api.ts";
import type { Depositor } from "../../../services/bridge/depositor.ts";
import { BridgeMetrics } from "../../../services/bridge/metrics.ts";
import { options as exchangesOptions, startExchanges } from "../../../services/exchanges/mod.ts";
import { createOracleApi, healthHandler } from "../../../services/oracle/api.ts";
import { createOracleMetrics } from "../../../services/oracle/metrics.ts";
import { options as oracleOptions, startOracle } from "../../../services/oracle/mod.ts";
import { PriceOracle } from "../../../services/oracle/price_oracle.ts";
import { createSolverApi } from "../../../services/solver/api.ts";
import { SolverMetrics } from "../../../services/solver/metrics.ts";
import { MockStrategy } from "../../../services/solver/pricing/mock_strategy.ts";
import { Quoter } from "../../../services/solver/quoting/quoter.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import { CHAIN_ID, relayer } from "../../bridge/support.ts";
import { solver } from "../../solver/support.ts";
import { eventually } from "../../support/eventually.ts";

const unlimited: MiddlewareHandler = (_c, next) => next();

const unused = () => Promise.reject(new Error("Not part of this test"));

/** The solver's routes, and how its executor answers. */
export function solverApp(execute: Executor["execute"] = unused): Hono {
  const strategy = new MockStrategy(Math.random);
  return createSolverApi({
    markets: SPEC_MARKETS,
    quoter: new Quoter({
      markets: SPEC_MARKETS,
      exposureLimit: { requireEstimateFits() {} },
      strategy,
      signer: solver,
      chainId: CHAIN_ID,
      clock: systemClock,
      timeBounds: undefined,
    }),
    executor: { execute },
    exposure: new ExposureBook(undefined, decodeBet),
    metrics: new SolverMetrics(new Registry(), SPEC_MARKETS),
    limiter: unlimited,
    ownBalance: unused,
    calibration: () => undefined,
    checkReadiness: unused,
    solver: solver.address,
    chainId: CHAIN_ID,
    corsOrigins: ["*"],
    dryRun: false,
    maxRisk: 10_000_000_000n,
    multiplier: 1.5,
    clock: systemClock,
  });
}

/** The bridge's routes, and how its store answers. */
export function bridgeApp(read: () => Promise<never> = unused): Hono {
  const store = {
    find: (): Promise<Intent | undefined> => read(),
    listByUser: (): Promise<never> => read(),
  };
  return bridgeAppOf({ deposit: unused }, store);
}

export function bridgeAppOf(
  depositor: Pick<Depositor, "deposit">,
  store: Pick<IntentStore, "find" | "listByUser">,
): Hono {
  return createBridgeApi({
    depositor,
    store,
    metrics: new BridgeMetrics(new Registry(), unused),
    limiter: unlimited,
    checkReadiness: unused,
    bridge: relayer.address,
    rpcUrl: "http://127.0.0.1:1",
    chainId: CHAIN_ID,
    corsOrigins: ["*"],
  });
}

export function oracleApp(): { app: Hono; health: Handler } {
  const metrics = createOracleMetrics(new Registry());
  const oracle = new PriceOracle({
    providers: [],
    markets: MARKETS,
    board: { aggregation: "median", minSources: 1, maxSourceAgeMs: 1_000 },
    clock: systemClock,
    random: Math.random,
    metrics,
  });
  const api = { oracle, clock: systemClock, metrics, startedAtMs: 0, minSources: 1 };
  return { app: createOracleApi(api), health: healthHandler(api) };
}

/** Runs a test with an oracle that has every price from all four simulated exchanges. */
export async function withOracle(
  test: (
    oracle: RunningService,
    exchanges: Awaited<ReturnType<typeof startExchanges>>,
  ) => Promise<void>,
): Promise<void> {
  await using exchanges = await startExchanges(
    withDefaults(exchangesOptions, { port: 0, rate: 50 }),
  );
  const { providerUrls } = exchanges;
  await using oracle = await startOracle(withDefaults(oracleOptions, { port: 0, providerUrls }));
  await eventually("every price", async () => {
    const { status } = await (await fetch(`${oracle.url}/health`)).json();
    return status === "healthy";
  });
  await test(oracle, exchanges);
}
