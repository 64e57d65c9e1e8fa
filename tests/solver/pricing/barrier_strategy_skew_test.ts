import { decodeBet } from "../../../services/solver/execution/execution.ts";
import assert from "node:assert/strict";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import type { BetTerms } from "../../../lib/protocol/terms.ts";
import { bookSkew } from "../../../services/solver/pricing/barrier_strategy.ts";
import { market, solver, user } from "../support.ts";
import { quoteHashOf } from "../theses.ts";
import { assertRefused, barrier } from "./barrier.ts";

/** A strategy with a book that is full at 200 USDC. */
function skewed() {
  const book = new ExposureBook(undefined, decodeBet);
  const made = barrier({}, {
    skew: {
      share: 0.5,
      capacity: 200_000_000n,
      correlatedRisk: (bet) => book.correlatedRisk(bet, made.clock.now()),
    },
  });
  let count = 0;
  const hold = (bet: BetTerms, payout: bigint) => {
    const quoteHash = quoteHashOf(count += 1);
    book.reserve(quoteHash, { ...bet, payout, user: user.address, solver: solver.address });
    return quoteHash;
  };
  return { ...made, book, hold };
}

Deno.test("Barrier: each further bet on a box pays less, until the skew reaches its share", () => {
  const { strategy, bet, hold } = skewed();
  const full = barrier().strategy.price(bet).payout;
  let before = full + 1n;
  let skew = -1;
  for (let count = 0; count < 20; count++) {
    const { payout, details } = strategy.price(bet);
    assert.ok(payout > bet.betAmount, `${payout}`);
    if (skew < 0.5) assert.ok(payout < before && details.skew > skew, `${count}: ${payout}`);
    const winnings = Number(full - bet.betAmount) * (1 - details.skew);
    assert.ok(Math.abs(Number(payout - bet.betAmount) - winnings) <= 1);
    [before, skew] = [payout, details.skew];
    hold(bet, payout);
  }
  assert.equal(skew, 0.5, "a full book withholds no more than the share");
});

Deno.test("Barrier: open bets without a common price, time or market do not change the payout", () => {
  const { strategy, bet, hold } = skewed();
  const above = { ...bet, lowerPrice: bet.lowerPrice + 5_000_000n };
  const alone = strategy.price(above);
  hold({ ...bet, upperPrice: above.lowerPrice - 1n }, bet.betAmount * 9n);
  hold({ ...bet, startTime: bet.endTime, endTime: bet.endTime + 60_000 }, bet.betAmount * 9n);
  hold({ ...bet, base: market.quote }, bet.betAmount * 9n);
  assert.deepEqual(strategy.price(above), alone);
  assert.equal(alone.details.skew, 0);
});

Deno.test("Barrier: an arriving bet is checked against the bets in the book, a recorded one not against later ones", () => {
  const { strategy, bet, hold } = skewed();
  const { payout } = strategy.price(bet);
  strategy.recheck(bet, payout, false);
  for (let count = 0; count < 4; count++) hold(bet, payout);
  assertRefused(() => strategy.recheck(bet, payout, false), "PRICE_MOVED", 400, /below 0\.0250/);
  strategy.recheck(bet, payout, true); // as one of the four
});

Deno.test("Barrier: a bet quoted beside another is refused once the other has settled, as a new quote pays more", () => {
  const { strategy, bet, hold, book } = skewed();
  const large = { ...bet, betAmount: 200_000_000n };
  const other = hold(large, strategy.price(large).payout);
  const { payout } = strategy.price(large);
  strategy.recheck(large, payout, false);
  const own = hold(large, payout);
  strategy.recheck(large, payout, true);
  book.release(other);
  const words = /below that of a new quote/;
  // Its own risk, as large as that of the other, does not count against it.
  assertRefused(() => strategy.recheck(large, payout, true), "PRICE_IMPROVED", 400, words);
  book.release(own);
  assertRefused(() => strategy.recheck(large, payout, false), "PRICE_IMPROVED", 400, words);
});

Deno.test("Skew: grows with the risk of other bets, is never negative, and 0 without a share", () => {
  const { bet } = barrier();
  const skewOf = (risk: number, ownRisk = 0n, share = 0.5) =>
    bookSkew({ share, capacity: 100n, correlatedRisk: () => risk }, bet, ownRisk);
  const found = [skewOf(0), skewOf(20), skewOf(20, 20n), skewOf(20, 30n), skewOf(999)];
  assert.deepEqual(found, [0, 0.1, 0, 0, 0.5]);
  assert.deepEqual([skewOf(20, 0n, 0), bookSkew(undefined, bet)], [0, 0]);
});
