/** What the slip announces. Texts in parentheses are for screen readers alone. */
import assert from "node:assert/strict";
import { NetworkError, RangemakerError } from "../../../../lib/client/mod.ts";
import type { EstimateState } from "../../../../services/console/page/data/estimator.ts";
import { BET } from "../../support.ts";
import { inStage, scene, TOO_LATE } from "./bet_slip_scene.ts";
import { nextTurn } from "../../../support/eventually.ts";

Deno.test("BetSlip: a payout is announced once the box has been still for a second", async () => {
  const { slip, clock, said } = scene();
  const { state } = slip.estimator;
  clock.advance(900);
  slip.edit({ lower: "2991" });
  clock.advance(900);
  assert.deepEqual(said, []);
  // These parts of an estimate are spoken.
  const estimate = { betAmount: 10_000_000n, payout: 16_800_000n, probability: 0.56 };
  state.value = { estimate, bet: BET } as EstimateState;
  clock.advance(5_000);
  assert.deepEqual(said, [], "it is of the box before");
  state.value = { estimate, bet: { ...BET, lowerPrice: 2_991_000_000n } } as EstimateState;
  clock.advance(1_000);
  await nextTurn();
  assert.deepEqual(said, [
    "(Your box pays 16.80 USDC (× 1.68), chance 56.0 %, break-even 59.5 %.)",
  ]);
  assert.equal(said[0], `(${slip.terms})`);
});

Deno.test("BetSlip: while the market has a problem, which the chart announces, no payout is announced", () => {
  const { slip, said, clock, market } = scene();
  market.value = "stale";
  slip.estimator.state.value = { failure: new NetworkError("SERVICE_UNREACHABLE", ""), bet: BET };
  clock.advance(1_000);
  assert.deepEqual(said, []);
});

Deno.test("BetSlip: a wrong field is announced instead of a payout, unless it is an empty price", () => {
  const { slip, clock, said } = scene();
  for (const amount of ["5", "50", "5000"]) {
    slip.edit({ amount });
    clock.advance(900);
  }
  assert.deepEqual(said, [], "it is still being typed");
  clock.advance(5_000);
  const tooMuch = "(You bet: Enter at most 1,000.00 USDC, your balance.)";
  assert.deepEqual(said, [tooMuch], "once");
  slip.edit({ lower: "2980", upper: "3020" });
  clock.advance(1_000);
  assert.equal(said.length, 2, "also if another field has changed, as by a suggested box");
  slip.edit({ lower: "" });
  clock.advance(5_000);
  assert.equal(said.length, 2, "the user has not filled it in yet");
  slip.edit({ lower: "2980", amount: "" });
  clock.advance(1_000);
  assert.equal(said.at(-1), "(You bet: Enter an amount.)", "it is asked for, also by Enter");
});

Deno.test("BetSlip: a box that the price has left is announced with the key that moves it, once that is known", () => {
  const { slip, clock, said } = scene();
  const failure = new RangemakerError("OUTSIDE_RANGE", "");
  slip.estimator.state.value = { failure, bet: BET };
  slip.edit({ amount: "20" });
  clock.advance(1_000);
  assert.deepEqual(said, [], "the obstacle may be of the box before");
  const bet = { ...BET, betAmount: 20_000_000n };
  slip.estimator.state.value = { failure, bet };
  clock.advance(1_000);
  assert.deepEqual(said, [
    "(The price is outside the box. Move it, or draw one around the price. " +
    "Press “Move the box to the price”, or M on the chart.)",
  ]);
});

Deno.test("BetSlip: a quote that replaces an expired one announces payout and start of its window", async () => {
  const { slip, clock, said } = scene();
  await slip.quote();
  clock.advance(20_000);
  assert.deepEqual(said.slice(1), [TOO_LATE]);
  await slip.quote();
  const stage = inStage(slip, "quoted");
  assert.equal(stage.offer.quote.startTime, clock.now() + 8_000);
  assert.match(said.at(-1) ?? "", /^\(Quote: sign within 8 s\. It pays [\d.]+ USDC\.\)$/);
});

Deno.test("BetSlip: the last 10 s to sign are announced, counted to the start of the window if that is earlier", async () => {
  const cases = [
    ["1 min", 25, 15_000],
    ["20 s", 20, 10_000],
  ] as const;
  for (const [startsIn, seconds, warnedAfterMs] of cases) {
    const { slip, clock, said } = scene();
    slip.edit({ startsIn });
    await slip.quote();
    clock.advance(warnedAfterMs - 1);
    assert.equal(said.length, 1);
    assert.equal(said[0], `(Quote: sign within ${seconds} s. It pays 12.00 USDC.)`);
    clock.advance(1);
    assert.deepEqual(said.slice(1), ["(Sign within 10 s.)"]);
  }
  const { slip, clock, said } = scene(); // its window starts sooner
  slip.edit({ startsIn: "8 s", lasts: "6 s" });
  await slip.quote();
  clock.advance(7_999);
  assert.equal(said.length, 1);
});

Deno.test("BetSlip: an expiry is announced only while the quote is shown", async () => {
  const { slip, clock, said } = scene();
  await slip.quote();
  slip.back();
  clock.advance(500);
  assert.deepEqual(said.slice(1), ["(Back to the box: no bet was placed.)"]);
  clock.advance(60_000);
  assert.equal(said.length, 2);
});

Deno.test("BetSlip: while another view is shown, nothing about the slip is announced", async () => {
  const { slip, clock, said, speak, hush } = scene();
  await slip.quote();
  hush(); // as the trade view does when it is left
  clock.advance(60_000);
  assert.equal(said.length, 1, "not that it expired");
  speak();
  assert.deepEqual(said.slice(1), [TOO_LATE], "once it is shown again");
  slip.estimator.isPaused = true; // as in a hidden tab, for example behind a wallet
  slip.back();
  assert.equal(said.length, 3);
});
