import assert from "node:assert/strict";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { formatUnits } from "../../../lib/protocol/price.ts";
import { UINT64_MAX } from "../../../lib/protocol/scalars.ts";
import type { Bet } from "../../../lib/protocol/bet.ts";
import { type MarketView, PricingRefusedError } from "../../../services/solver/pricing/strategy.ts";
import { MarketVolatility } from "../../../services/solver/pricing/volatility.ts";
import { forecastOf } from "../../../services/solver/pricing/volatility_forecast.ts";
import { decodeBet } from "../../../services/solver/execution/execution.ts";
import { ExposureBook } from "../../../services/solver/risk/exposure_book.ts";
import { bookSkew } from "../../../services/solver/pricing/barrier_strategy.ts";
import { assertRefused, barrier, SPOT } from "./barrier.ts";
import { quoteHashOf, solver, user } from "../support.ts";

Deno.test("BarrierStrategy: the payout is the bet less the margin, divided by the charged probability", () => {
  const { strategy, bet, view } = barrier({}, { userLeadMs: 1_000 });
  view.spot.price = SPOT + 5_000_000n;
  const { payout, details } = strategy.price(bet);
  const { probability, chargedProbability } = details;
  assert.ok(probability > 0.1 && probability < chargedProbability && chargedProbability < 0.9);
  const expected = 100_000_000 * 0.95 / chargedProbability;
  assert.ok(Math.abs(Number(payout) - expected) <= 1, `${payout} is not ${expected}`);
  const { probability: _, chargedProbability: __, ...rest } = details;
  assert.deepEqual(
    rest,
    {
      volatility: 0.6,
      volatilitySpread: 0.3,
      spot: "3005000000",
      spotAgeMs: 0,
      margin: 0.05,
      stillShare: 0,
      skew: 0,
    },
  );
});

Deno.test("BarrierStrategy: a later window is likelier to be won if prices end nearer to their start", () => {
  const worthOf = (endToRangeRatio: number, aheadMs: number) => {
    const forecast = () => ({ ...forecastOf(0.6, 0.3), endToRangeRatio });
    const { strategy, bet } = barrier({ volatility: { forecast } });
    const [startTime, endTime] = [bet.startTime + aheadMs, bet.endTime + aheadMs];
    return strategy.price({ ...bet, startTime, endTime }).details.probability;
  };
  assert.equal(worthOf(0.8, 0), worthOf(1, 0), "one that begins now depends on the path alone");
  const ratio = worthOf(0.8, 600_000) / worthOf(1, 600_000);
  assert.ok(ratio > 1.15 && ratio < 1.25, `${ratio}`);
});

Deno.test("BarrierStrategy: a later window is priced by the volatility of its own time", () => {
  const forecast = (nowMs: number, _endMs: number, startMs = nowMs) =>
    forecastOf(startMs - nowMs === 600_000 ? 0.3 : 0.6, 0.3);
  const { strategy, bet, clock } = barrier({ volatility: { forecast } });
  const volatilityAt = (startTime: number) =>
    strategy.price({ ...bet, startTime, endTime: bet.endTime + 600_000 }).details.volatility;
  assert.equal(volatilityAt(clock.now() + 600_000), 0.3);
  assert.equal(volatilityAt(clock.now() - 60_000), 0.6, "one that has begun: the rest of it");
});

Deno.test("BarrierStrategy: PAYOUT_TOO_LOW for a bet that cannot be lost; the multiplier is capped at ten", () => {
  const { strategy, bet } = barrier();
  const safe = { ...bet, lowerPrice: 1n, upperPrice: UINT64_MAX };
  assertRefused(() => strategy.price(safe), "PAYOUT_TOO_LOW", /probability of 0\.9999/);
  assert.throws(() => strategy.price(safe), (thrown) => {
    assert.ok(thrown instanceof PricingRefusedError);
    const { chargedProbability = 0, margin } = thrown.pricing ?? {};
    return chargedProbability > 0.999 && margin === 0.05;
  });
  const hopeless = { ...bet, lowerPrice: SPOT, upperPrice: SPOT + 40_000n };
  assert.equal(strategy.price(hopeless).payout, bet.betAmount * 10n);
});

Deno.test("BarrierStrategy: PAYOUT_TOO_LOW advises a larger bet only if rounding takes the winnings", () => {
  const { strategy, bet } = barrier();
  const safe = { ...bet, lowerPrice: 1n, upperPrice: UINT64_MAX };
  const advice = (message: string) => new RegExp(`; choose a narrower range${message}$`);
  assertRefused(() => strategy.price(safe), "PAYOUT_TOO_LOW", advice(" or a longer window"));
  const small = {
    ...bet,
    lowerPrice: SPOT - 9_000_000n,
    upperPrice: SPOT + 9_000_000n,
    betAmount: 1n,
  };
  const larger = advice(", a longer window or a larger bet");
  assertRefused(() => strategy.price(small), "PAYOUT_TOO_LOW", larger);
  assert.ok(strategy.price({ ...small, betAmount: 1_000_000n }).payout > 1_000_000n);
});

Deno.test("BarrierStrategy: PAYOUT_TOO_LOW for a box that ends within its hold: it is executed only if it is won", () => {
  const { strategy, bet } = barrier({}, { userLeadMs: 3_000 });
  const short = {
    ...bet,
    lowerPrice: SPOT - 100_000n,
    upperPrice: SPOT + 100_000n,
    endTime: bet.startTime + 2_000,
  };
  assertRefused(
    () => strategy.price(short),
    "PAYOUT_TOO_LOW",
    /once executed, the user wins with a probability of 1\.0000 /,
  );
});

Deno.test("BarrierStrategy: near a bound, an execution is held for the user's lead plus the price's age", () => {
  const { strategy, bet, view } = barrier({}, { userLeadMs: 700 });
  const near = { ...bet, upperPrice: SPOT + 300_000n };
  const { payout } = strategy.price(near);
  assert.equal(strategy.holdMs(near, payout), 700);
  view.spot.lastUpdateMs -= 300;
  assert.equal(strategy.holdMs(near, payout), 1_000);
});

Deno.test("BarrierStrategy: mid-box bets are held only if the payout makes a lead profitable", () => {
  const { strategy, bet } = barrier({}, { userLeadMs: 1_000 });
  const { payout, details } = strategy.price(bet);
  assert.equal(details.chargedProbability, details.probability);
  assert.equal(strategy.holdMs(bet, payout), 0);
  assert.equal(strategy.holdMs(bet, payout * 108n / 100n), 1_000);
});

Deno.test("BarrierStrategy: without a price, an execution is held for the lead plus the maximum price age", () => {
  const { strategy, bet } = barrier({ spot: undefined }, { userLeadMs: 700 });
  assert.equal(strategy.holdMs(bet, 2n * bet.betAmount), 2_700);
});

Deno.test("BarrierStrategy: the recheck after the hold prices the rest of the box, without a charge", () => {
  const { strategy, bet, view, clock, ring } = barrier({}, { userLeadMs: 1_000 });
  const near = { ...bet, upperPrice: SPOT + 300_000n, endTime: bet.startTime + 20_000 };
  const { payout, details } = strategy.price(near);
  assert.ok(details.chargedProbability > 1.2 * details.probability);
  for (let time = bet.startTime; time < bet.startTime + 1_000; time += 100) ring.append(time, SPOT);
  clock.jump(1_000);
  const now = clock.now();
  Object.assign(view, { spot: { ...view.spot, lastUpdateMs: now }, historyEndMs: now });
  // A box that has survived without a move is worth less than one that was expected to move away.
  const still = () => strategy.recheck(near, payout, { isRecorded: true });
  assertRefused(still, "PRICE_IMPROVED", /below that of a new quote/);
  const fair = BigInt(
    Math.round(0.95 * Number(bet.betAmount) / strategy.price(near).details.probability),
  );
  strategy.recheck(near, fair, { isRecorded: true });
  const asNew = () => strategy.recheck(near, fair, { isRecorded: false });
  assertRefused(asNew, "PRICE_MOVED", /would leave/);
});

Deno.test("BarrierStrategy: the charge is higher for an older price and for a shorter box", () => {
  const chargeOf = (ageMs: number, durationMs: number) => {
    const { strategy, bet, view } = barrier({}, { userLeadMs: 100 });
    view.spot = { price: SPOT + 1_000_000n, lastUpdateMs: bet.startTime - ageMs, fresh: true };
    // Two deviations wide at every duration, so that only the duration differs.
    const half = BigInt(Math.round(3e9 * 0.6 * 1.2 * Math.sqrt(durationMs / 31_536e6)));
    const { details } = strategy.price({
      ...bet,
      lowerPrice: SPOT + 1_000_000n - 18n * half / 10n,
      upperPrice: SPOT + 1_000_000n + 2n * half / 10n,
      endTime: bet.startTime + durationMs,
    });
    return details.chargedProbability / details.probability;
  };
  assert.ok(chargeOf(1_000, 60_000) > chargeOf(100, 60_000));
  assert.ok(chargeOf(100, 10_000) > chargeOf(100, 60_000));
  assert.ok(chargeOf(100, 60_000) > chargeOf(100, 600_000));
});

Deno.test("BarrierStrategy: a price that is still in most slots stays inside more often, and pays less", () => {
  const near = { lowerPrice: SPOT, upperPrice: SPOT + 3_000_000n };
  const moving = barrier();
  const stillness = barrier({ stillness: { share: 0.9, tick: 10_000n } });
  const bet = { ...moving.bet, ...near, endTime: moving.bet.startTime + 10_000 };
  const [move, stand] = [moving.strategy.price(bet), stillness.strategy.price(bet)];
  assert.ok(stand.details.probability > 2 * move.details.probability);
  assert.ok(stand.payout < move.payout);
  assert.equal(stand.details.stillShare, 0.9);
});

Deno.test("BarrierStrategy: RANGE_TOO_NARROW and DURATION_TOO_SHORT below its own minimum, naming the option", () => {
  const { strategy, bet } = barrier({}, { minDurationMs: 5_000 });
  const narrow = { ...bet, lowerPrice: SPOT, upperPrice: SPOT + 39_999n };
  assertRefused(() => strategy.price(narrow), "RANGE_TOO_NARROW", /--min-width-ticks/);
  const short = { ...bet, endTime: bet.startTime + 4_999 };
  assertRefused(() => strategy.price(short), "DURATION_TOO_SHORT", /--min-duration-ms/);
  const unknown = barrier({ stillness: { share: 0, tick: undefined } });
  assert.ok(unknown.strategy.price(narrow).payout > 0n);
});

Deno.test("BarrierStrategy: PRICE_UNAVAILABLE without a price that is fresh, young and not ahead of the clock", () => {
  const { bet } = barrier();
  const cases: [MarketView["spot"], RegExp][] = [
    [undefined, /No price of ETH\/USDT/],
    [
      { price: SPOT, lastUpdateMs: bet.startTime - 2_001, fresh: true },
      /2001 ms old, over the limit of 2000/,
    ],
    [{ price: SPOT, lastUpdateMs: bet.startTime, fresh: false }, /stale by the core node/],
    [
      { price: SPOT, lastUpdateMs: bet.startTime + 2_001, fresh: true },
      /2001 ms in the future: the solver/,
    ],
  ];
  for (const [spot, words] of cases) {
    const { strategy } = barrier({ spot });
    assertRefused(() => strategy.price(bet), "PRICE_UNAVAILABLE", words);
  }
  const old = { price: SPOT, lastUpdateMs: bet.startTime - 2_000, fresh: true };
  assert.ok(barrier({ spot: old }).strategy.price(bet).payout > 0n);
});

Deno.test("BarrierStrategy: VOLATILITY_UNAVAILABLE with too little history, or an outdated one", () => {
  const volatility = new MarketVolatility({ volatilityFloor: 0.1, volatilityHistoryMs: 1_999.5 });
  const { strategy, bet } = barrier({ volatility });
  const words = /history of ETH\/USDT is 2000 ms too short/;
  assertRefused(() => strategy.price(bet), "VOLATILITY_UNAVAILABLE", words);
  const ended = barrier({ historyEndMs: bet.startTime - 10_001 });
  assertRefused(() => ended.strategy.price(bet), "VOLATILITY_UNAVAILABLE", /up to 10001 ms ago/);
  // A saved volatility goes on before the first prices of its history are read.
  const unread = barrier({ historyEndMs: 0 });
  assertRefused(() => unread.strategy.price(bet), "VOLATILITY_UNAVAILABLE", /not read yet: try/);
  assert.ok(barrier({ historyEndMs: bet.startTime - 10_000 }).strategy.price(bet).payout > 0n);
});

Deno.test("BarrierStrategy: OUTSIDE_RANGE for a spot outside, before and after the start; bounds are inside", () => {
  const { strategy, bet } = barrier();
  for (const startTime of [bet.startTime, bet.startTime + 5_000]) {
    for (const [lowerPrice, upperPrice] of [[SPOT + 1n, SPOT + 9n], [1n, SPOT - 1n]] as const) {
      const outside = { ...bet, startTime, lowerPrice, upperPrice };
      assertRefused(() => strategy.price(outside), "OUTSIDE_RANGE", /^Price 3000 is outside/);
    }
  }
  assert.ok(strategy.price({ ...bet, lowerPrice: SPOT }).payout > 0n);
  assert.ok(strategy.price({ ...bet, upperPrice: SPOT }).payout > 0n);
});

Deno.test("BarrierStrategy: a window that has begun is priced until a price was outside", () => {
  const { strategy, bet } = barrier();
  const begun = { ...bet, startTime: bet.startTime - 30_000 };
  assert.ok(strategy.price(begun).payout > 0n);

  const ring = new PriceRing(1_024);
  const nowMs = bet.startTime;
  for (let time = nowMs - 60_000; time < nowMs; time += 100) {
    ring.append(time, time === nowMs - 20_000 ? 2_990_000_000n : SPOT);
  }
  const broken = barrier({ history: ring });
  const words = new RegExp(`2990 at ${nowMs - 20_000}`);
  assertRefused(() => broken.strategy.price(begun), "RANGE_BROKEN", words);
  // The same price before the window, or outside it, breaks nothing.
  assert.ok(broken.strategy.price({ ...begun, startTime: nowMs - 10_000 }).payout > 0n);
});

Deno.test("BarrierStrategy: HISTORY_UNAVAILABLE if prices of a begun window are missing", () => {
  const { strategy, bet } = barrier();
  const long = { ...bet, startTime: bet.startTime - 61_000 };
  const gap = new RegExp(`${bet.startTime - 61_000} to ${bet.startTime - 60_000}`);
  assertRefused(() => strategy.price(long), "HISTORY_UNAVAILABLE", gap);
});

Deno.test("BarrierStrategy: WINDOW_ENDED after the end of the window", () => {
  const { strategy, bet, clock } = barrier();
  clock.advance(150_000);
  assertRefused(() => strategy.price(bet), "WINDOW_ENDED", /0 ms ago/);
});

Deno.test("BarrierStrategy: the recheck refuses a quote with less than half of the margin left", () => {
  const { strategy, bet, clock, view, ring } = barrier();
  const { payout } = strategy.price(bet);
  assert.ok(payout > bet.betAmount);
  const look = () => strategy.recheck(bet, payout, { isRecorded: false });
  look();
  // Time passes and the price stays inside: the rest of the window becomes ever safer.
  clock.advance(100_000);
  const nowMs = clock.now();
  view.spot = { price: SPOT, lastUpdateMs: nowMs, fresh: true };
  for (let time = bet.startTime; time < nowMs; time += 100) ring.append(time, SPOT);
  view.historyEndMs = nowMs;
  const words = /Payout of [\d.]+ USDC would leave -0\.\d+ of the bet to .* below 0\.0250/;
  const details = { signedPayout: String(payout), currentPayout: null };
  assertRefused(look, "PRICE_MOVED", words, details);
  view.spot = { price: 1n, lastUpdateMs: nowMs, fresh: true };
  assertRefused(look, "OUTSIDE_RANGE", /outside/);
});

Deno.test("BarrierStrategy: the recheck refuses a quote that a new one exceeds: the user gets the better price", () => {
  const { strategy, bet, view } = barrier();
  const { payout } = strategy.price(bet);
  view.spot.price = SPOT + 4_000_000n;
  const improved = strategy.price(bet).payout;
  assert.ok(improved > payout);
  const words = new RegExp(`is ${formatUnits(improved - payout)} USDC below that of a new quote`);
  const details = { signedPayout: String(payout), currentPayout: String(improved) };
  const look = () => strategy.recheck(bet, payout, { isRecorded: false });
  assertRefused(look, "PRICE_IMPROVED", words, details);
  strategy.recheck(bet, improved, { isRecorded: false });
});

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
  const hold = (bet: Bet, payout: bigint) => {
    const quoteHash = quoteHashOf(count += 1);
    book.reserve(quoteHash, { ...bet, payout, user: user.address, solver: solver.address });
    return quoteHash;
  };
  return { ...made, book, hold };
}

Deno.test("BarrierStrategy: a new bet counts all bets in the book, a recorded bet only those before it", () => {
  const { strategy, bet, hold } = skewed();
  const { payout } = strategy.price(bet);
  const look = () => strategy.recheck(bet, payout, { isRecorded: false });
  look();
  for (let count = 0; count < 4; count++) hold(bet, payout);
  assertRefused(look, "PRICE_MOVED", /below 0\.0250/);
  strategy.recheck(bet, payout, { isRecorded: true }); // as one of the four
});

Deno.test("BarrierStrategy: a bet quoted beside another is refused once that has settled: new ones pay more", () => {
  const { strategy, bet, hold, book } = skewed();
  const large = { ...bet, betAmount: 200_000_000n };
  const other = hold(large, strategy.price(large).payout);
  const { payout } = strategy.price(large);
  const asNew = () => strategy.recheck(large, payout, { isRecorded: false });
  const asRecorded = () => strategy.recheck(large, payout, { isRecorded: true });
  asNew();
  const recorded = hold(large, payout);
  asRecorded();
  book.release(other);
  const words = /below that of a new quote/;
  // Its own risk, as large as that of the other, does not count against it.
  assertRefused(asRecorded, "PRICE_IMPROVED", words);
  book.release(recorded);
  assertRefused(asNew, "PRICE_IMPROVED", words);
});

Deno.test("Skew: grows with the risk of other bets, is never negative, and 0 without a share", () => {
  const { bet } = barrier();
  const skewOf = (risk: number, ownRisk = 0n, share = 0.5) =>
    bookSkew({ share, capacity: 100n, correlatedRisk: () => risk }, bet, ownRisk);
  const found = [skewOf(0), skewOf(20), skewOf(20, 20n), skewOf(20, 30n), skewOf(999)];
  assert.deepEqual(found, [0, 0.1, 0, 0, 0.5]);
  assert.deepEqual([skewOf(20, 0n, 0), bookSkew(undefined, bet)], [0, 0]);
});
