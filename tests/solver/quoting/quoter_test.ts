import assert from "node:assert/strict";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { PricingDetails } from "../../../services/solver/pricing/strategy.ts";
import {
  estimateToWire,
  Quoter,
  type QuoterOptions,
} from "../../../services/solver/quoting/quoter.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { CHAIN_ID, solver, termsAt } from "../support.ts";

const clock = new FakeClock();
const { payout: _, solver: __, ...request } = termsAt(clock.now());
const details = { probability: 0.5 } as PricingDetails; // handed through as it is

/** A quoter whose strategy pays 130 for every bet. */
function quoterOf(overrides: Partial<QuoterOptions> = {}, payout = 130n) {
  return new Quoter({
    markets: SPEC_MARKETS,
    exposureLimit: { requireEstimateFits() {} },
    strategy: { name: "fixed", price: () => ({ payout, details }) },
    signer: solver,
    chainId: CHAIN_ID,
    clock,
    timeBounds: undefined,
    ...overrides,
  });
}

const never = { name: "never", price: () => assert.fail("Nothing is priced") };

Deno.test("Quoter: a quote has the requested terms, its payout and the solver's signature", () =>
  withLogs("debug", (records) => {
    const { quote, quoteHash, pricing } = quoterOf().quote(request);
    const terms = { ...request, solver: solver.address, payout: 130n };
    assert.equal(quoteHash, hashQuote(terms, CHAIN_ID));
    assert.deepEqual(quote, { ...terms, signature: solver.sign(quoteHash) });
    assert.equal(pricing, details);
    const logged = records.map(({ properties: { event, payout } }) => [event, payout]);
    assert.deepEqual(logged, [["quoted", "130"]]);
  }));

Deno.test("Quoter: an estimate has the same price as the quote, and the strategy's name", () => {
  const quoter = quoterOf();
  assert.deepEqual(quoter.estimate(request), { betAmount: 100n, payout: 130n, pricing: details });
  assert.equal(quoter.strategyName, "fixed");
});

Deno.test("Quoter: a payout is at most ten times the bet", () => {
  for (const [priced, payout] of [[999n, 999n], [1_000n, 1_000n], [1_001n, 1_000n]]) {
    assert.equal(quoterOf({}, priced).estimate(request).payout, payout);
    assert.equal(quoterOf({}, priced).quote(request).quote.payout, payout);
  }
});

Deno.test("Quoter: a bet below the chain's minimum is refused", () => {
  const quoter = quoterOf({});
  for (const [required, smallest] of [[101n, 101n], [100n, 100n], [0n, 1n]] as const) {
    quoter.setChainLimits({ minBetAmount: required, maxStartAheadMs: 0 });
    assert.equal(quoter.minBetAmount, smallest);
    const tooSmall = { ...request, betAmount: smallest - 1n };
    for (const ask of ["quote", "estimate"] as const) {
      assert.throws(() => quoter[ask](tooSmall), {
        code: "BET_TOO_SMALL",
        details: { betAmount: `${smallest - 1n}`, minBetAmount: `${smallest}` },
      });
      assert.doesNotThrow(() => quoter[ask]({ ...request, betAmount: smallest }));
    }
  }
});

Deno.test("Quoter: time bounds apply to windows of quotes and estimates, and to deadlines of quotes", () => {
  const starts = { maxStartAheadMs: 0, maxStartBehindMs: 0 };
  const timeBounds = { ...starts, maxDeadlineMs: 30_000 };
  quoterOf({ timeBounds }).quote(request);
  const strict = quoterOf({ timeBounds, strategy: never });
  for (const startsInMs of [-1, 1]) {
    const moved = { ...request, startTime: request.startTime + startsInMs };
    for (const ask of ["quote", "estimate"] as const) {
      const code = "INVALID_TIME_RANGE";
      const details = { startTime: moved.startTime, startsInMs, ...starts };
      assert.throws(() => strict[ask](moved), { code, details });
      quoterOf()[ask](moved);
    }
  }
  const late = { ...request, deadline: request.deadline + 1 };
  assert.throws(() => strict.quote(late), { code: "INVALID_REQUEST" });
  quoterOf().quote(late);
  quoterOf({ timeBounds }).estimate(late);
});

Deno.test("Quoter: a window that starts later than the chain accepts is refused", () => {
  const timeBounds = { maxStartAheadMs: 9, maxStartBehindMs: 0, maxDeadlineMs: 30_000 };
  const quoter = quoterOf({ timeBounds });
  const startsIn = (ms: number) => ({ ...request, startTime: request.startTime + ms });
  quoter.quote(startsIn(6));
  quoter.setChainLimits({ minBetAmount: 0n, maxStartAheadMs: 5 });
  quoter.quote(startsIn(5));
  for (const ask of ["quote", "estimate"] as const) {
    assert.throws(() => quoter[ask](startsIn(6)), {
      code: "INVALID_TIME_RANGE",
      message: /^Window starts 6 ms from now; at most 5 ms are allowed/,
    });
  }
  quoter.setChainLimits({ minBetAmount: 0n, maxStartAheadMs: 100 });
  assert.throws(() => quoter.quote(startsIn(10)), /at most 9 ms/);
});

Deno.test("Estimate: the multiplier has four decimals, rounded like toFixed(4)", () => {
  const multiplierOf = (payout: bigint, betAmount: bigint) =>
    estimateToWire({ betAmount, payout }).multiplier;
  assert.equal(multiplierOf(16n, 15n), "1.0667");
  assert.equal(multiplierOf(7n, 7n), "1.0000");
  assert.equal(multiplierOf(10_000_000_000_000n, 1_000_000_000_000n), "10.0000");
  assert.equal(multiplierOf(1_099_950_000_000n, 1_000_000_000_000n), (1.09995).toFixed(4));
});
