/** A barrier strategy on a market that the test makes. */
import assert from "node:assert/strict";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import type { Bet } from "../../../lib/protocol/bet.ts";
import {
  BarrierStrategy,
  type BarrierStrategyOptions,
} from "../../../services/solver/pricing/barrier_strategy.ts";
import {
  type MarketView,
  type PricingRefusal,
  PricingRefusedError,
} from "../../../services/solver/pricing/strategy.ts";
import { forecastOf } from "../../../services/solver/pricing/volatility_forecast.ts";
import { DOCUMENTED_CODES } from "../../refusals/support.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { market } from "../support.ts";

/** The price of the market that a test makes. */
export const SPOT = 3_000_000_000n;

/** A strategy on a market that the test makes, with a minute of unmoved history behind it. */
export function barrier(
  overrides: Partial<MarketView> = {},
  options: Partial<BarrierStrategyOptions> = {},
) {
  const clock = new FakeClock();
  const nowMs = clock.now();
  const ring = new PriceRing(1_024);
  for (let time = nowMs - 60_000; time < nowMs; time += 100) ring.append(time, SPOT);
  const view = {
    symbol: market.symbol,
    spot: { price: SPOT, lastUpdateMs: nowMs, fresh: true },
    volatility: { forecast: () => forecastOf(0.6, 0.3) },
    stillness: { share: 0, tick: 10_000n },
    history: ring,
    historyEndMs: nowMs,
    ...overrides,
  };
  const strategy = new BarrierStrategy({
    market: () => view,
    clock,
    margin: 0.05,
    userLeadMs: 0,
    maxPriceAgeMs: 2_000,
    minDurationMs: 1_000,
    minWidthTicks: 4,
    ...options,
  });
  const bet: Bet = {
    thesisType: "box",
    base: market.base,
    quote: market.quote,
    lowerPrice: 2_994_000_000n,
    upperPrice: 3_006_000_000n,
    betAmount: 100_000_000n,
    startTime: nowMs,
    endTime: nowMs + 150_000,
  };
  return { strategy, bet, clock, view, ring };
}

/** Asserts that a strategy refuses as documented, with a code, a message and optional details. */
export function assertRefused(
  call: () => unknown,
  code: PricingRefusal,
  words: RegExp,
  details?: Record<string, unknown>,
): void {
  assert.throws(call, (thrown) => {
    assert.ok(thrown instanceof PricingRefusedError);
    assert.deepEqual({ ...thrown.details, ...details }, thrown.details);
    assert.equal(thrown.code, code);
    assert.match(DOCUMENTED_CODES.get(code) ?? "", new RegExp(`\`${thrown.retry}\``));
    assert.match(thrown.message, words);
    return true;
  });
}
