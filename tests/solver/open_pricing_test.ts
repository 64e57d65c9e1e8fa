import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { withDefaults } from "../../lib/cli/options.ts";
import { openIntentStore } from "../../lib/intents/open_store.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import type { HistoryQuery } from "../../lib/net/core_reader.ts";
import { SPEC_MARKETS } from "../../lib/protocol/markets.ts";
import { decodeBet } from "../../services/solver/execution/execution.ts";
import { openPricing } from "../../services/solver/open_pricing.ts";
import { options, type SolverOptions } from "../../services/solver/options.ts";
import { STRATEGIES } from "../../services/solver/pricing/strategy.ts";
import { ExposureBook } from "../../services/solver/risk/exposure_book.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { startFakeCandles } from "./market/fake_candles.ts";
import { market, nodePrice, quoteHashOf, solver, termsAt } from "./support.ts";

const SPOT = 3_000_000_000n;

/** A node whose price has swung a little for two minutes. */
class SwingingNode extends CoreClient {
  readonly queries: HistoryQuery[] = [];

  constructor() {
    super({ url: "http://127.0.0.1:9" });
  }

  override getPriceHistory(query: HistoryQuery) {
    this.queries.push(query);
    const prices = [];
    for (let time = Math.max(query.from, query.to - 120_000); time < query.to; time += 100) {
      prices.push({ time, price: SPOT + BigInt(time / 100 % 50) * 10_000n });
    }
    return Promise.resolve({ prices, missing: [], nextCursor: null });
  }
}

/** The pricing of a solver in memory, on a market at {@link SPOT}. */
async function withPricing(
  overrides: Partial<SolverOptions>,
  test: (
    parts: Awaited<ReturnType<typeof openPricing>> & {
      clock: FakeClock;
      node: SwingingNode;
      exposure: ExposureBook;
      store: IntentStore;
    },
  ) => Promise<void>,
): Promise<void> {
  const node = new SwingingNode();
  const clock = new FakeClock();
  const exposure = new ExposureBook(undefined, decodeBet);
  const store = await openIntentStore(":memory:", "solver");
  const settings = withDefaults(options, {
    privateKey: solver,
    volatilityHistoryMs: 1_000,
    ...overrides,
  });
  const pricing = await openPricing(settings, {
    markets: SPEC_MARKETS,
    node,
    clock,
    exposure,
    store,
  });
  try {
    await test({ ...pricing, clock, node, exposure, store });
  } finally {
    await pricing.stop();
    await store.close();
    assert.equal(clock.pending, 0);
  }
}

for (const name of Object.keys(STRATEGIES)) {
  Deno.test(`openPricing: the built-in strategy ${name} is created under its name`, () =>
    withPricing({ pricing: name }, ({ strategy }) => {
      assert.equal(strategy.name, name);
      return Promise.resolve();
    }));
}

/** A bet around {@link SPOT} that starts now. */
function betAt(nowMs: number) {
  return termsAt(nowMs, {
    lowerPrice: SPOT - 800_000n,
    upperPrice: SPOT + 800_000n,
    betAmount: 100_000_000n,
    payout: 150_000_000n,
  });
}

Deno.test("Pricing: the mock needs no prices", () =>
  withPricing({ pricing: "mock" }, async ({ strategy, marketData, start, stop, node }) => {
    start();
    assert.deepEqual([strategy.name, marketData], ["mock", undefined]);
    assert.ok(strategy.price(betAt(0)).payout > 100_000_000n);
    await stop().then(() => assert.deepEqual(node.queries, []));
  }));

Deno.test("Pricing: barrier charges the user's lead, and without --max-exposure a skew by ten times --max-risk", () =>
  withPricing(
    { pricing: "barrier", userLeadMs: 700, skew: 0.4, maxRisk: 20_000_000n },
    async ({ strategy, marketData, start, clock, node, exposure }) => {
      const bet = betAt(clock.now());
      const spot = nodePrice({ price: SPOT, lastUpdate: clock.now() });
      marketData?.setSpots({ [market.symbol]: spot }, clock.now());
      start();
      await eventually("the history", () => node.queries.length >= 3);
      await setImmediate();
      exposure.reserve(quoteHashOf(1), bet);
      const { skew = 0 } = strategy.price(bet).details ?? {};
      assert.ok(Math.abs(skew - 0.4 * 50 / 200) < 1e-12, `${skew}`);
      const near = strategy.price({ ...bet, upperPrice: SPOT + 50_000n }).details;
      assert.ok((near?.chargedProbability ?? 0) > (near?.probability ?? 1));
    },
  ));

Deno.test("Pricing: after a stop no history is read", () =>
  withPricing({ pricing: "barrier" }, async ({ start, stop, node }) => {
    start();
    await stop();
    assert.deepEqual(node.queries, []);
  }));

Deno.test("Pricing: if an exchange fails twice, the node's history is read", async () => {
  await using exchange = startFakeCandles();
  exchange.failures = Array.from({ length: 9 }, () => new Response("", { status: 500 }));
  await withPricing(
    { pricing: "barrier", historyUrl: exchange.url },
    async ({ start, clock, node }) => {
      start();
      const markets = SPEC_MARKETS.list.length;
      // Three waits for the repetition, and the time limit of all.
      await eventually("the waits", () => clock.pending > markets);
      assert.equal(exchange.queries.length, markets);
      clock.advance(1_000);
      await eventually("the node", () => node.queries.length > markets);
      assert.equal(exchange.queries.length, 2 * markets);
    },
  );
});

for (
  const [title, isStarted] of [["saves its volatility", true], [
    "that never started saves none",
    false,
  ]] as const
) {
  Deno.test(`openPricing: a stop of a solver ${title}`, () =>
    withPricing({ pricing: "barrier" }, async ({ marketData, start, stop, store }) => {
      const candle = {
        timeMs: 0,
        durationMs: 60_000,
        open: 3_000,
        high: 3_010,
        low: 2_990,
        close: 3_005,
      };
      marketData?.stateOf(market).volatility.addCandle(candle);
      if (isStarted) start();
      await stop();
      assert.equal(await store.records.findValue("volatility") !== undefined, isStarted);
    }));
}
