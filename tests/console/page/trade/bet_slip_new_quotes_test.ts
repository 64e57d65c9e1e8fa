/** New quotes: within the tolerance they are signed at once, beyond it the user decides. */
import assert from "node:assert/strict";
import { ExecutionError, type Offer } from "../../../../lib/client/mod.ts";
import { formatCents, formatTime } from "../../../../services/console/page/parts/format.ts";
import { QUOTE_LIFE_MS } from "../../../../services/console/page/trade/draft.ts";
import { offerOf, OTHER, SIGNATURE, USER } from "../../support.ts";
import { inStage, moving, quoteOf, scene, stageOf } from "./bet_slip_scene.ts";
import { nextTurn } from "../../../support/eventually.ts";

Deno.test("BetSlip: a payout that moved within the tolerance is signed again at once, for the same window", async () => {
  for (const payout of [10_200_000n, 12_000_000n, 13_800_000n]) {
    const { slip, clock, quoted, signed, said, removed, pending } = moving(2, [
      12_000_000n,
      payout,
    ]);
    await slip.quote();
    clock.jump(1_000); // the quote is read
    const now = clock.now.bind(clock);
    clock.now = () => (clock.jump(1), now()); // time passes between any two lines
    await slip.sign();
    const { offer, signedFirst } = inStage(slip, "placed");
    assert.deepEqual([offer.quote.payout, quoted.length, signed.length], [payout, 3, 3]);
    const windows = quoted.map(({ startTime, endTime }) => `${startTime} ${endTime}`);
    assert.equal(new Set(windows).size, 1);
    // Both stay with the bet.
    const hasMoved = payout !== 12_000_000n;
    assert.equal(signedFirst, hasMoved ? signed[0] : undefined);
    const text = `(You signed for 12.00 USDC; the odds changed as you did: it pays ${
      formatCents(payout)
    } USDC, chance 48.0 %.)`;
    assert.deepEqual(said.slice(1), hasMoved ? [text] : []);
    assert.deepEqual(removed.map((text) => `(${text})`), [said[0]], "not on offer any more");
    assert.deepEqual(pending.readBets(USER), []);
  }
});

Deno.test("BetSlip: once its window has begun, the user decides on another quote, and hears what helps", async () => {
  for (const takesMs of [2_000, 9_000]) { // an answer is overdue after 6 s
    const result = scene({
      async execute() {
        result.clock.advance(takesMs);
        await nextTurn();
        const details = { usedUp: true };
        throw new ExecutionError("PRICE_MOVED", "It moved", { details, retry: "new_quote" });
      },
    });
    const { slip, said } = result;
    await slip.quote();
    await slip.sign();
    const stage = inStage(slip, "quoted");
    const why = takesMs < 6_000
      ? "the odds changed faster than your bet got through. Taller, longer or later boxes are easier"
      : "no answer came before its window began.";
    assert(stage.refusal?.startsWith(`Not placed, nothing taken: ${why}`), stage.refusal);
    assert(said.at(-1)?.includes(stage.refusal ?? "?"), said.at(-1));
  }
});

Deno.test("BetSlip: beyond the tolerance, in either direction, the user decides, and hears by how much", async () => {
  const [LESS, MORE] = [
    / Taller, longer or later boxes/,
    / A better payout means a smaller chance/,
  ];
  const cases: [tolerance: number, payouts: bigint[], signatures: number, why: string, RegExp][] = [
    [5, [12_000_000n, 11_399_999n], 1, "changed by 5.1 %, and you accept 5 %.", LESS],
    [5, [12_000_000n, 12_600_001n], 1, "changed by 5.1 %, and you accept 5 %.", MORE],
    [10, [12_000_000n, 11_500_000n, 11_000_000n, 10_700_000n], 3, "changed by 10.9 %, and", LESS],
    [10, [12_000_000n, 12_500_000n, 13_000_000n, 13_300_000n], 3, "changed by 10.9 %, and", MORE],
    [0, [12_000_000n, 11_999_999n], 1, "changed by 0.1 %, and you accept 0 %.", LESS],
    [50, [12_000_000n, 9_999_999n], 1, "it would now pay less than you bet.", LESS],
  ];
  for (const [tolerance, payouts, signatures, why, advice] of cases) {
    const { slip, signed, said, open } = moving(99, payouts);
    slip.setTolerance(tolerance);
    assert.equal(open().tolerancePercent.value, tolerance, "kept in the browser");
    await slip.quote();
    await slip.sign();
    const { offer, before, refusal = "" } = inStage(slip, "quoted");
    assert.equal(signed.length, signatures);
    assert.deepEqual(before, { payout: signed[0]?.quote.payout, isQuote: true });
    assert.notEqual(offer.quoteHash, signed.at(-1)?.quoteHash);
    assert(refusal.startsWith("Not placed, nothing taken: ") && refusal.includes(why), refusal);
    assert.match(refusal, advice);
    const from = formatTime(offer.quote.startTime);
    const pays = `It pays ${
      formatCents(offer.quote.payout)
    } USDC. ${refusal} New quote, from ${from}.`;
    assert(said.at(-1)?.startsWith(`(New quote: sign within 8 s. ${pays}`), said.at(-1));
    const isMuch = Math.abs(Number(offer.quote.payout) / 12_000_000 - 1) >= 0.01;
    const than = / % (less|more) than the 12\.00 USDC that you signed for\.\)$/;
    assert.equal(than.test(said.at(-1) ?? ""), isMuch, said.at(-1));
    assert.equal(said.length, 2);
  }
});

Deno.test("BetSlip: a maker that refuses each of its own quotes is not asked for ever", async () => {
  const { slip, signed } = moving(99, [12_000_000n]);
  await slip.quote();
  await slip.sign();
  const stage = inStage(slip, "quoted");
  assert.match(stage.refusal ?? "", /the odds changed faster than your bet got through\. Taller/);
  assert.equal(signed.length, 31);
});

Deno.test("BetSlip: a finger that hammers signs nothing until it has rested for a second", async () => {
  const { slip, clock, said } = scene();
  await slip.quote();
  clock.advance(400);
  slip.press();
  inStage(slip, "signing"); // 0.4 s after it has appeared
  slip.back();
  assert.equal(slip.lock.isLocked.value, false);
  slip.edit({ startsIn: "60 s" });
  await slip.quote();
  assert.equal(slip.lock.isLocked.value, true);
  clock.advance(300);
  for (let press = 0; press < 14; press++) {
    slip.press();
    clock.advance(900);
  }
  assert.equal(stageOf(slip).name, "quoted");
  assert.equal(said.at(-1), "The quote is new: press again to sign it.");
  clock.advance(100);
  assert.equal(slip.lock.isLocked.value, false);
  slip.press({ isHeld: true }); // a key that has been held since before
  assert.equal(stageOf(slip).name, "quoted");
  slip.press();
  assert.equal(stageOf(slip).name, "signing");
});

Deno.test("BetSlip: nothing is signed again if the account has changed", async () => {
  const left = moving(1, [12_000_000n]);
  await left.slip.quote();
  const placed = left.slip.sign();
  left.user.value = left.userOf(OTHER);
  await placed;
  assert.deepEqual([stageOf(left.slip), left.signed.length], [{ name: "draft" }, 1]);
});

Deno.test("BetSlip: after a refusal, the window of the new quote starts as far ahead as the first one's did", async () => {
  for (const begun of [false, true]) {
    let payout = 12_000_000n; // below the tolerance with each quote
    const announced: boolean[] = [];
    const { slip, clock, said } = scene({
      quote(bet) {
        const stage = stageOf(slip);
        if (stage.name === "signing") announced.push(stage.isAgain);
        return Promise.resolve(offerOf(7, { ...quoteOf(bet).quote, payout: payout-- }));
      },
      execute() {
        clock.jump(begun ? 1_000 : 500); // on its way
        return Promise.reject(
          new ExecutionError("PRICE_IMPROVED", "It moved", { retry: "new_quote" }),
        );
      },
    });
    slip.setTolerance(0);
    await slip.quote();
    clock.jump(7_000); // the quote is read
    await slip.sign();
    const stage = inStage(slip, "quoted");
    assert.equal(announced[0], !begun, "one more signature was announced only if it may follow");
    assert.equal(stage.offer.quote.startTime, clock.now() + 8_000);
    const why = begun
      ? "the odds changed faster than your bet got through"
      : "the payout changed by 0.1 %, and you accept 0 %";
    assert(said.at(-1)?.includes(`Not placed, nothing taken: ${why}. `));
  }
});

Deno.test("BetSlip: once it has expired or its window has begun, a quote is neither signed nor sent", async () => {
  for (const [startsIn, ms] of [["8 s", 8_000], ["60 s", QUOTE_LIFE_MS - 5_000]] as const) {
    let signed = 0;
    const { slip, clock } = scene({ sign: () => (signed++, Promise.resolve(SIGNATURE)) });
    slip.edit({ startsIn });
    await slip.quote();
    clock.jump(ms);
    await slip.sign();
    assert.deepEqual([stageOf(slip).name, signed], ["quoted", 0]);
    await slip.quote();
    const { before } = inStage(slip, "quoted");
    assert.deepEqual(before, { payout: 12_000_000n, isQuote: true }, "the quote that was seen");
  }
});

Deno.test("BetSlip: if the chain is reset while a new quote is asked for, the user decides on it", async () => {
  let asked = 0;
  const signed: Offer[] = [];
  const result = scene({
    quote(bet) {
      asked += 1;
      if (asked === 2) result.user.value = result.userOf(OTHER); // as the session does
      return Promise.resolve(quoteOf(bet));
    },
    sign: (offer) => (signed.push(offer), Promise.resolve(SIGNATURE)),
    execute: () =>
      Promise.reject(new ExecutionError("PRICE_MOVED", "It moved", { retry: "new_quote" })),
  });
  result.user.value = result.userOf(OTHER); // an account that was opened after the page
  await result.slip.quote();
  await result.slip.sign();
  assert.deepEqual([stageOf(result.slip).name, asked, signed.length], ["quoted", 3, 1]);
});
