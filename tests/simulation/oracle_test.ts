import assert from "node:assert/strict";
import { Counter, Registry } from "prom-client";
import type { RandomSource } from "../../lib/random.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { PROVIDER_NAMES } from "../../lib/protocol/providers.ts";
import { MINUTE_MS } from "../../lib/time.ts";
import { DIALECTS } from "../../services/exchanges/dialects/mod.ts";
import { EXCHANGE_FAULT_NAMES, type ExchangeFault } from "../../services/exchanges/faults.ts";
import { TradePlayer } from "../../services/exchanges/playback.ts";
import { simulatedTrades } from "../../services/exchanges/simulation.ts";
import { Exchange } from "../../services/exchanges/exchange.ts";
import { FAULTS } from "../../services/oracle/provider_session.ts";
import { createOracleMetrics, type OracleMetrics } from "../../services/oracle/metrics.ts";
import { PriceOracle } from "../../services/oracle/price_oracle.ts";
import { PROVIDERS } from "../../services/oracle/providers/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { withSeed } from "../support/random.ts";
import { NaiveModel, Wire } from "./oracle_world.ts";

const RUN_MS = 60 * MINUTE_MS;

const MIN_SOURCES = 2;

const MAX_SOURCE_AGE_MS = 2_500;

/** Longest time that a fault lasts. */
const FAULT_MS_MAX = 90_000;

const SYMBOLS = MARKETS.map((market) => market.symbol);

/**
 * Lets one exchange break and recover, again and again, until stopped: every fault in an order drawn
 * by lot, then again in another.
 */
function breakAtRandom(exchange: Exchange, clock: FakeClock, random: RandomSource): () => void {
  let stopped = false;
  let bag: ExchangeFault[] = [];
  const draw = (): ExchangeFault => {
    if (bag.length === 0) bag = [...EXCHANGE_FAULT_NAMES];
    const [fault] = bag.splice(Math.floor(random() * bag.length), 1);
    assert(fault !== undefined);
    return fault;
  };
  const next = () => {
    if (stopped) return;
    clock.after(Math.ceil(random() * MINUTE_MS), () => {
      if (stopped) return;
      const fault = draw();
      exchange.inject(fault);
      if (fault === "refuse" || fault === "no_ack") {
        // Only a new connection meets these.
        exchange.inject("close");
        exchange.clear("close");
      }
      clock.after(Math.ceil(random() * FAULT_MS_MAX), () => {
        exchange.clear(fault);
        next();
      });
    });
  };
  next();
  return () => {
    stopped = true;
    for (const fault of EXCHANGE_FAULT_NAMES) exchange.clear(fault);
  };
}

/**
 * The oracle of the run. Connections expire and streams become silent sooner than in production, so
 * that an hour has many of both.
 */
function createOracle(
  clock: FakeClock,
  random: RandomSource,
  wire: Wire,
  metrics: OracleMetrics,
): PriceOracle {
  return new PriceOracle({
    providers: PROVIDER_NAMES.map((name, index) => ({
      provider: {
        ...PROVIDERS[name],
        lifetimeMs: name === "provider_a" ? MINUTE_MS / 2 : undefined,
        liveness: { ...PROVIDERS[name].liveness, streamSilenceMs: 15_000 },
      },
      url: `ws://wire${DIALECTS[index]?.path}`,
    })),
    markets: MARKETS,
    board: {
      aggregation: "median",
      minSources: MIN_SOURCES,
      maxSourceAgeMs: MAX_SOURCE_AGE_MS,
    },
    clock,
    random,
    metrics,
    connect: wire.connect,
  });
}

async function faultsSeen(metrics: OracleMetrics): Promise<Set<string | undefined>> {
  assert(metrics.faults instanceof Counter);
  const { values } = await metrics.faults.get();
  return new Set(values.map(({ labels }) => labels.fault?.toString()));
}

Deno.test("Oracle: during 60 minutes with every fault, it serves the prices of a naive model", () =>
  withSeed(async (random) => {
    const clock = new FakeClock();
    const exchanges = DIALECTS.map((dialect) => new Exchange({ dialect, markets: MARKETS, clock }));
    let checks = 0;
    let withheld = 0;
    /** The most sources that contributed to a market at once. */
    const mostSources = new Map<string, number>();
    let checkDue = false;
    const check = () => {
      checkDue = false;
      checks += 1;
      const { prices } = JSON.parse(oracle.board.body);
      for (const entry of Object.values<Record<string, unknown>>(prices)) {
        delete entry.base;
        delete entry.quote;
        delete entry.decimals;
      }
      const expected = model.served(MIN_SOURCES, MAX_SOURCE_AGE_MS);
      for (const [symbol, { sources }] of Object.entries(expected)) {
        const most = mostSources.get(symbol) ?? 0;
        mostSources.set(symbol, Math.max(most, sources.length));
        if (!oracle.board.markets.get(symbol)?.isWithheld) continue;
        assert(sources.length < most, `${symbol} is withheld with all of ${most} sources`);
        withheld += 1;
        delete expected[symbol];
      }
      if (JSON.stringify(prices) !== JSON.stringify(expected)) {
        assert.deepEqual(prices, expected, `at ${clock.now()}`);
      }
    };
    const model = new NaiveModel(clock, () => {
      if (checkDue) return;
      checkDue = true;
      // After all that happens in this very millisecond.
      clock.after(0, check);
    });
    const wire = new Wire(clock, random, exchanges, model);
    const metrics = createOracleMetrics(new Registry());
    const oracle = createOracle(clock, random, wire, metrics);
    const player = new TradePlayer(
      [simulatedTrades({ markets: SYMBOLS, random, startMs: clock.now(), tradesPerSecond: 1 })],
      clock,
      (trade) => exchanges[PROVIDER_NAMES.indexOf(trade.provider)]?.trade(trade),
    );
    oracle.start();
    player.start();
    const repairs = exchanges.map((exchange) => breakAtRandom(exchange, clock, random));
    for (let passedMs = 0; passedMs < RUN_MS; passedMs += 50) {
      clock.advance(50);
      check();
    }
    for (const repair of repairs) repair();
    clock.advance(2 * MINUTE_MS);
    check();
    // With a trade a second, a source is sometimes too old for a moment.
    const missing = () =>
      SYMBOLS.filter((symbol) =>
        oracle.board.markets.get(symbol)?.entry?.sources.length !== PROVIDER_NAMES.length
      );
    for (let passedMs = 0; passedMs < MINUTE_MS && missing().length > 0; passedMs += 50) {
      clock.advance(50);
    }
    assert.deepEqual(missing(), [], "every source is back in every market");
    assert(checks > 50_000, `${checks} checks`);
    const withheldMax = checks * SYMBOLS.length / 100;
    assert(withheld <= withheldMax, `withheld ${withheld} times in ${checks} checks`);
    const seen = await faultsSeen(metrics);
    for (const fault of Object.keys(FAULTS)) assert(seen.has(fault), `${fault} never happened`);
    const limits = wire.closes.filter((reason) => reason.includes("Too many"));
    assert.deepEqual(limits, [], "the oracle stays within every exchange's limits");
    oracle.stop();
    player.stop();
    for (const exchange of exchanges) exchange.stop();
  }));
