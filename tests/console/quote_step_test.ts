import assert from "node:assert/strict";
import { formatTime } from "../../services/console/page/parts/format.ts";
import { type QuoteSituation, quoteStepOf } from "../../services/console/page/trade/quote_step.ts";
import type { QuotedStage } from "../../services/console/page/trade/stage.ts";
import { offerOf } from "./offers.ts";

const offer = offerOf(1, {
  lowerPrice: 10n,
  upperPrice: 12n,
  deadline: 30_000,
  startTime: 10_000,
  endTime: 60_000,
});

const QUOTED: QuoteSituation = {
  stage: { name: "quoted", offer, before: undefined },
  isDevelopmentKey: false,
  onItsWay: undefined,
  isAway: false,
  balance: 100_000_000n,
  price: 11n,
};

const REFUSAL = "Not placed.";

const BACK = "Change the box";

Deno.test("quoteStepOf: once the window has begun, a quote is renewed", () => {
  assert.equal(quoteStepOf(QUOTED, 9_999).action, "sign");
  const { look: _, ...late } = quoteStepOf(QUOTED, 10_000);
  assert.deepEqual(late, {
    button: "Ask for a new quote",
    note: "Too late: the window has begun. Nothing was placed or taken.",
    action: "renew",
    back: BACK,
  });
  const refused = { ...QUOTED.stage, refusal: REFUSAL };
  assert.equal(quoteStepOf({ ...QUOTED, stage: refused }, 10_000).note, REFUSAL);
});

Deno.test("quoteStepOf: after a refusal the button says for which payout it signs again, and the note is a warning", () => {
  const quote = { ...offer.quote, betAmount: 9n, payout: 134_760_000n };
  const paying = { ...offer, quote, probability: 0.402 };
  const stage: QuotedStage = {
    name: "quoted",
    offer: paying,
    refusal: REFUSAL,
    before: { payout: 134_760_000n, isQuote: true },
  };
  const { button, look, note } = quoteStepOf({ ...QUOTED, stage }, 0);
  assert.deepEqual([button, look], ["Sign again: 134.76, chance 40.2 %", "warned"]);
  const from = formatTime(10_000);
  assert.equal(note, `${REFUSAL} New quote, from ${from}.`);
});

Deno.test("quoteStepOf: a valid quote can be signed or declined", () => {
  for (const price of [11n, undefined]) {
    assert.deepEqual(quoteStepOf({ ...QUOTED, price }, 0), {
      button: "Sign and place the bet",
      note: "",
      deadline: "Sign within 10 s.",
      action: "sign",
      back: BACK,
    });
  }
});

Deno.test("quoteStepOf: while the wallet asks, the deadline is still shown, until it has passed", () => {
  const stage = { name: "signing" as const, offer, first: offer, isAgain: false };
  const at = (nowMs: number) => quoteStepOf({ ...QUOTED, stage }, nowMs).deadline;
  assert.equal(at(0), "Sign within 10 s.");
  assert.match(at(10_000) ?? "", /^Too late: the window has begun\./);
});

Deno.test("quoteStepOf: a price outside the box is a warning", () => {
  const early = quoteStepOf({ ...QUOTED, price: 13n }, 9_999);
  assert.deepEqual([early.action, early.look], ["sign", "warned"]);
  assert.match(early.deadline ?? "", /^The price is outside the box\. .* Sign within 1 s\.$/);
});

Deno.test("quoteStepOf: all that changed since the last quote is one note; a price outside is told with the deadline", () => {
  const stage: QuotedStage = {
    name: "quoted",
    offer,
    refusal: REFUSAL,
    before: { payout: 2n * offer.quote.payout, isQuote: true },
  };
  const { look, note, deadline, button } = quoteStepOf({ ...QUOTED, stage }, 0);
  assert.match(deadline ?? "", /^Sign within 10 s\./, "apart: a long note may be cut off");
  assert.equal(button, "Sign again: 0.00");
  assert.equal(look, "warned", "half of what it paid");
  assert.match(
    note ?? "",
    /^Not placed\. New quote, .* It pays 50 % less /,
  );
  const both = quoteStepOf({ ...QUOTED, stage, price: 13n }, 0);
  assert.match(both.note ?? "", /^Not placed\. /);
  assert.match(both.deadline ?? "", /^The price is outside the box\. /);
});

Deno.test("quoteStepOf: a quote above the balance cannot be signed, with a note", () => {
  const step = quoteStepOf({ ...QUOTED, balance: 9n }, 0);
  assert.equal(step.note, "Your balance is 0.000009 USDC now: bet less.");
  assert.equal(quoteStepOf({ ...QUOTED, balance: offer.quote.betAmount }, 0).action, "sign");
});

Deno.test("quoteStepOf: an expired quote can be renewed", () => {
  const late = {
    ...QUOTED.stage,
    offer: { ...offer, quote: { ...offer.quote, deadline: 14_000 } },
  };
  const expired = quoteStepOf({ ...QUOTED, stage: late, price: 13n }, 9_000);
  assert.deepEqual([expired.action, expired.look], ["renew", "failure"]);
  assert.match(expired.note ?? "", /^The quote has expired/);
});

Deno.test("quoteStepOf: while an answer is missing, it says until when at most", () => {
  const stage = { name: "sending" as const, offer, first: offer };
  const { note } = quoteStepOf({ ...QUOTED, stage, onItsWay: { isChecking: true } }, 0);
  assert(note?.endsWith(`we will know by ${formatTime(35_000)}. Nothing to do.`), note);
});

Deno.test("quoteStepOf: without a connection, or while a bet is being placed, nothing can be signed", () => {
  const waiting: [Partial<QuoteSituation>, button: string, back: string | undefined][] = [
    [{ isAway: true }, "Waiting for live prices", BACK],
    [
      { onItsWay: { isChecking: true }, isAway: true },
      "Outcome unknown, checking …",
      BACK,
    ],
    [{ onItsWay: { isChecking: false } }, "Your other tab is placing a bet …", BACK],
    [{ balance: 9n }, "Sign and place the bet", BACK],
    [
      { stage: { name: "sending", offer, first: offer }, onItsWay: { isChecking: false } },
      "Placing the bet …",
      undefined,
    ],
    [
      { stage: { name: "sending", offer, first: offer }, onItsWay: { isChecking: true } },
      "Outcome unknown, checking …",
      undefined,
    ],
    [
      { stage: { name: "signing", offer, first: offer, isAgain: false } },
      "Sign in your wallet …",
      "Cancel",
    ],
    [
      { stage: { name: "signing", offer, first: offer, isAgain: true }, isDevelopmentKey: true },
      "Signing …",
      undefined,
    ],
  ];
  for (const [change, button, back] of waiting) {
    const step = quoteStepOf({ ...QUOTED, ...change }, 0);
    assert.deepEqual([step.button, step.action, step.back], [button, undefined, back]);
  }
});
