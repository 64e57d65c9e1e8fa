import assert from "node:assert/strict";
import fc from "fast-check";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { UINT64_MAX } from "../../../lib/protocol/scalars.ts";
import { LIMITS } from "../../../services/solver/limits.ts";
import {
  BarrierStrategy,
  type Charges,
  type MarketView,
  payoutFor,
} from "../../../services/solver/pricing/barrier_strategy.ts";
import { statusOfCode } from "../../../lib/http/error_status.ts";
import { PricingRefusedError } from "../../../services/solver/pricing/strategy.ts";
import type { BetTerms } from "../../../lib/protocol/terms.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { market } from "../support.ts";

const SPOT = 3_000_000_000n;

/** A strategy on a market that the test makes, with a minute of unmoved history behind it. */
function barrier(
  given: Partial<MarketView> = {},
  charges: Charges = { margin: 0.05, vegaCharge: 0.1 },
) {
  const clock = new FakeClock();
  const nowMs = clock.now();
  const ring = new PriceRing(1_024);
  for (let time = nowMs - 60_000; time < nowMs; time += 100) ring.append(time, SPOT);
  const view = {
    spot: { price: SPOT, lastUpdateMs: nowMs, fresh: true },
    volatility: 0.6,
    history: ring,
    historyEndMs: nowMs,
    ...given,
  };
  const strategy = new BarrierStrategy({
    marketView: () => view,
    clock,
    ...charges,
    maxPriceAgeMs: 2_000,
  });
  const bet: BetTerms = {
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

function assertRefused(call: () => unknown, code: string, status: number, words: RegExp): void {
  assert.throws(call, (thrown) => {
    assert.ok(thrown instanceof PricingRefusedError);
    assert.equal(thrown.code, code);
    assert.equal(statusOfCode(thrown.code), status);
    assert.equal(thrown.retryable, status === 503);
    assert.match(thrown.message, words);
    return true;
  });
}

Deno.test("Barrier: pays the bet without the margin over the charged probability", () => {
  const { strategy, bet } = barrier();
  const { payout, details } = strategy.price(bet);
  assert.ok(details);
  const { probability, chargedProbability } = details;
  assert.ok(probability > 0.3 && probability < chargedProbability && chargedProbability < 0.9);
  const expected = 100_000_000 * 0.95 / chargedProbability;
  assert.ok(Math.abs(Number(payout) - expected) <= 1, `${payout} is not ${expected}`);
  assert.ok(Number(payout) * probability < 100_000_000 * 0.95, "the maker gains on average");
  assert.equal(details.volatility, 0.6);
  assert.equal(details.spot, "3000000000");
  assert.equal(details.margin, 0.05);
  assert.equal(details.vegaCharge, 0.1);
});

Deno.test("Barrier: a bet that cannot be lost pays itself, a hopeless one ten times", () => {
  const { strategy, bet } = barrier();
  const safe = { ...bet, lowerPrice: 1n, upperPrice: UINT64_MAX };
  assert.equal(strategy.price(safe).payout, bet.betAmount);
  const hopeless = { ...bet, lowerPrice: SPOT, upperPrice: SPOT + 1n };
  assert.equal(strategy.price(hopeless).payout, bet.betAmount * LIMITS.maxPayoutRatio);
});

Deno.test("Barrier: payouts lie between the bet and the limit for every probability", () => {
  fc.assert(fc.property(
    fc.bigInt({ min: LIMITS.minBetAmount, max: LIMITS.maxBetAmount }),
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.double({ min: 0, max: 0.99, noNaN: true }),
    (bet, probability, margin) => {
      const payout = payoutFor(bet, probability, margin);
      assert.ok(payout >= bet && payout <= bet * LIMITS.maxPayoutRatio, `${payout}`);
    },
  ));
});

Deno.test("Barrier: PRICE_UNAVAILABLE for no price, an old one and one that the node calls stale", () => {
  const { bet } = barrier();
  const cases: [MarketView["spot"], RegExp][] = [
    [undefined, /No price of ETH\/USDT/],
    [{ price: SPOT, lastUpdateMs: bet.startTime - 2_001, fresh: true }, /2001 ms old, above 2000/],
    [{ price: SPOT, lastUpdateMs: bet.startTime, fresh: false }, /stale by the core node/],
  ];
  for (const [spot, words] of cases) {
    const { strategy } = barrier({ spot });
    assertRefused(() => strategy.price(bet), "PRICE_UNAVAILABLE", 503, words);
  }
  const old = { price: SPOT, lastUpdateMs: bet.startTime - 2_000, fresh: true };
  assert.ok(barrier({ spot: old }).strategy.price(bet).payout > 0n);
});

Deno.test("Barrier: VOLATILITY_UNAVAILABLE for too little history, and for one that ended", () => {
  const { strategy, bet } = barrier({ volatility: undefined });
  assertRefused(() => strategy.price(bet), "VOLATILITY_UNAVAILABLE", 503, /too short/);
  const ended = barrier({ historyEndMs: bet.startTime - 10_001 });
  assertRefused(() => ended.strategy.price(bet), "VOLATILITY_UNAVAILABLE", 503, /10001 ms ago/);
});

Deno.test("Barrier: OUTSIDE_RANGE for a spot outside, before and after the start; bounds are inside", () => {
  const { strategy, bet } = barrier();
  for (const startTime of [bet.startTime, bet.startTime + 5_000]) {
    for (const [lowerPrice, upperPrice] of [[SPOT + 1n, SPOT + 9n], [1n, SPOT - 1n]] as const) {
      const outside = { ...bet, startTime, lowerPrice, upperPrice };
      assertRefused(() => strategy.price(outside), "OUTSIDE_RANGE", 400, /^.* 3000\.000000/);
    }
  }
  assert.ok(strategy.price({ ...bet, lowerPrice: SPOT }).payout > 0n);
  assert.ok(strategy.price({ ...bet, upperPrice: SPOT }).payout > 0n);
});

Deno.test("Barrier: a window that has begun is priced while it holds, and refused once it is broken", () => {
  const { strategy, bet } = barrier();
  const begun = { ...bet, startTime: bet.startTime - 30_000 };
  assert.ok(strategy.price(begun).payout > 0n);

  const ring = new PriceRing(1_024);
  const nowMs = bet.startTime;
  for (let time = nowMs - 60_000; time < nowMs; time += 100) {
    ring.append(time, time === nowMs - 20_000 ? 2_990_000_000n : SPOT);
  }
  const broken = barrier({ history: ring });
  const words = new RegExp(`2990\\.000000 at ${nowMs - 20_000}`);
  assertRefused(() => broken.strategy.price(begun), "RANGE_BROKEN", 400, words);
  // The same price before the window, or outside it, breaks nothing.
  assert.ok(broken.strategy.price({ ...begun, startTime: nowMs - 10_000 }).payout > 0n);
});

Deno.test("Barrier: HISTORY_UNAVAILABLE where the past of a window is not known", () => {
  const { strategy, bet } = barrier();
  const long = { ...bet, startTime: bet.startTime - 61_000 };
  const gap = new RegExp(`${bet.startTime - 61_000} to ${bet.startTime - 60_000}`);
  assertRefused(() => strategy.price(long), "HISTORY_UNAVAILABLE", 503, gap);
});

Deno.test("Barrier: WINDOW_ENDED for a window that is over", () => {
  const { strategy, bet, clock } = barrier();
  clock.advance(150_000);
  assertRefused(() => strategy.price(bet), "WINDOW_ENDED", 400, /0 ms ago/);
});

Deno.test("Barrier: a quote stands while its charges are not eaten up, and no longer", () => {
  const { strategy, bet, clock, view, ring } = barrier();
  const { payout } = strategy.price(bet);
  assert.ok(payout > bet.betAmount);
  strategy.recheck(bet, payout);
  // Time goes by and the price stays inside: what is left of the window is ever safer.
  clock.advance(100_000);
  const nowMs = clock.now();
  view.spot = { price: SPOT, lastUpdateMs: nowMs, fresh: true };
  for (let time = bet.startTime; time < nowMs; time += 100) ring.append(time, SPOT);
  view.historyEndMs = nowMs;
  const words = /Payout \d+ is worth \d+ by now, \d+ above the bet 100000000/;
  assertRefused(() => strategy.recheck(bet, payout), "PRICE_MOVED", 400, words);
  strategy.recheck(bet, bet.betAmount);
  view.spot = { price: 1n, lastUpdateMs: nowMs, fresh: true };
  assertRefused(() => strategy.recheck(bet, payout), "OUTSIDE_RANGE", 400, /outside/);
});

Deno.test("Barrier: a quote without charges holds at once; rounding alone is no move of the price", () => {
  const { strategy, bet } = barrier({}, { margin: 0, vegaCharge: 0 });
  const large = { ...bet, betAmount: LIMITS.maxBetAmount };
  const { payout } = strategy.price(large);
  strategy.recheck(large, payout);
  const plus = (share: number) => payout + BigInt(Math.round(Number(payout) * share));
  strategy.recheck(large, plus(5e-10));
  assertRefused(() => strategy.recheck(large, plus(2e-9)), "PRICE_MOVED", 400, /is worth/);
});
