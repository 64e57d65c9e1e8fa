import assert from "node:assert/strict";
import { type QuoteSituation, quoteStepOf } from "../../services/console/page/trade/quote_step.ts";
import { offerOf } from "./offers.ts";

const offer = offerOf(1, {
  ...{ lowerPrice: 10n, upperPrice: 12n },
  ...{ deadline: 30_000, startTime: 10_000, endTime: 60_000 },
});

const QUOTED: QuoteSituation = {
  stage: { name: "quoted", offer, estimated: undefined, replaces: undefined, isRefused: false },
  ...{ isDevelopmentKey: false, isChecking: false, hasOther: false, isOffline: false },
  balance: 100n,
  price: 11n,
};

const BACK = "Change the box";

Deno.test("quoteStepOf: a valid quote can be signed or declined", () => {
  for (const price of [11n, undefined]) {
    assert.deepEqual(quoteStepOf({ ...QUOTED, price }, 0), {
      button: "Sign and place the bet",
      note: "Sign within 25 s. The window starts in 10 s.",
      action: "sign",
      back: BACK,
    });
  }
});

Deno.test("quoteStepOf: a price outside the box is a warning before the window starts, and prevents signing afterwards", () => {
  const early = quoteStepOf({ ...QUOTED, price: 13n }, 9_999);
  assert.deepEqual([early.action, early.look], ["sign", "warned"]);
  assert.match(early.note ?? "", /^Sign within 16 s\. The price is outside the box\. /);
  const late = quoteStepOf({ ...QUOTED, price: 13n }, 10_000);
  assert.deepEqual([late.action, late.look, late.back], [undefined, "failure", BACK]);
  assert.equal(quoteStepOf(QUOTED, 10_000).action, "sign", "inside");
});

Deno.test("quoteStepOf: a quote above the balance cannot be signed, with a note", () => {
  const step = quoteStepOf({ ...QUOTED, balance: 9n }, 0);
  assert.equal(step.note, "Your balance is 0.00 USDC now: bet less.");
  assert.equal(quoteStepOf({ ...QUOTED, balance: offer.quote.betAmount }, 0).action, "sign");
});

Deno.test("quoteStepOf: an expired quote can be renewed", () => {
  const expired = quoteStepOf({ ...QUOTED, price: 13n }, 25_000);
  assert.deepEqual([expired.action, expired.look], ["renew", "failure"]);
  assert.match(expired.note ?? "", /^The quote has expired/);
  assert.match(quoteStepOf(QUOTED, 60_000).note ?? "", /^Too late: the window has ended\. /);
});

Deno.test("quoteStepOf: offline, or while a bet is being placed, nothing can be signed", () => {
  const waiting: [Partial<QuoteSituation>, button: string, back: string | undefined][] = [
    [{ isOffline: true }, "You are offline", BACK],
    [
      { hasOther: true, isChecking: true, isOffline: true },
      "Outcome unknown, checking …",
      undefined,
    ],
    [{ hasOther: true }, "Your other tab is placing a bet …", BACK],
    [{ balance: 9n }, "Sign and place the bet", BACK],
    [{ stage: { name: "sending", offer }, hasOther: true }, "Placing the bet …", undefined],
    [
      { stage: { name: "sending", offer }, hasOther: true, isChecking: true },
      "Outcome unknown, checking …",
      undefined,
    ],
    [{ stage: { name: "signing", offer, isAgain: false } }, "Sign in your wallet …", "Cancel"],
    [
      { stage: { name: "signing", offer, isAgain: true }, isDevelopmentKey: true },
      "Signing …",
      undefined,
    ],
  ];
  for (const [change, button, back] of waiting) {
    const step = quoteStepOf({ ...QUOTED, ...change }, 0);
    assert.deepEqual([step.button, step.action, step.back], [button, undefined, back]);
  }
});
