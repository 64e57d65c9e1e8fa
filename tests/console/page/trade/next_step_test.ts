import assert from "node:assert/strict";
import { NetworkError } from "../../../../lib/client/mod.ts";
import {
  type Obstacle,
  obstacleOf,
  type QuoteSituation,
  quoteStepOf,
  type Situation,
  spokenText,
  unpriceableBy,
} from "../../../../services/console/page/trade/next_step.ts";
import { formatTime } from "../../../../services/console/page/parts/format.ts";
import { parseFields } from "../../../../services/console/page/trade/draft.ts";
import type { QuotedStage } from "../../../../services/console/page/trade/stage.ts";
import { BET, estimateOf, offerOf, SIGNATURE } from "../../support.ts";

const FIELDS = { lower: "1", upper: "2", startsIn: "8", lasts: "15", amount: "10" };

const READY: Situation = {
  market: "fresh",
  chainId: 1337,
  nodeChainId: 1337,
  hasUser: true,
  walletChainId: 1337,
  balance: 10_000_000n,
  onItsWay: undefined,
  isEmpty: false,
  errors: {},
  unpriceable: undefined,
};

const QUOTE = "Get a quote";

const signed = { offer: offerOf(1), signature: SIGNATURE };

/** By name, in order of priority: each is shown even if all later ones apply too. */
const obstacles: Record<
  string,
  [
    change: Partial<Situation>,
    button: string,
    text: RegExp,
    then?: Partial<Pick<Obstacle, "action" | "field">>,
  ]
> = {
  "a bet on its way": [
    { onItsWay: { ...signed, isChecking: true } },
    "Outcome unknown, checking …",
    /^No answer yet/,
  ],
  "a bet that another tab is placing": [
    { onItsWay: { ...signed, isChecking: false } },
    "Your other tab is placing a bet …",
    /^$/,
  ],
  "no live prices": [{ market: "away" }, "Waiting for live prices", /^$/],
  "a node of another chain, which opens no account": [
    { nodeChainId: 9 },
    QUOTE,
    /^The node has chain 9, and this page is for chain 1337: nobody can bet here\.$/,
  ],
  "no box": [{ isEmpty: true }, "Suggest a box", /^Draw a box/, { action: "suggest" }],
  "wrong fields": [
    { errors: { lower: "?", lasts: "!" } },
    "Check “Stays above”",
    /^Stays above: \?\.$/,
    { action: "correct", field: "lower" },
  ],
  "a wrong amount": [
    { errors: { amount: "!" } },
    "Check “You bet”",
    /^You bet: !\.$/,
    { action: "correct", field: "amount" },
  ],
  "a price that left the box": [
    { unpriceable: { code: "OUTSIDE_RANGE", text: "It left." } },
    "Move the box to the price",
    /^It left\.$/,
    { action: "move" },
  ],
  "no price for the box": [{ unpriceable: { code: "X", text: "Too low." } }, QUOTE, /^Too low\.$/],
  "a stranger": [{ hasUser: false }, QUOTE, /^Open your account first\.$/],
  "no money": [{ balance: 0n }, QUOTE, /^Take money to bet with first\.$/],
  "a wallet on another chain": [
    { walletChainId: 5 },
    "Switch the wallet’s chain",
    /^The wallet is on chain 5; bets are on chain 1337\.$/,
    { action: "switch" },
  ],
  "a node that has not answered": [{ nodeChainId: undefined }, "Connecting …", /Asking the node/],
};

Deno.test("obstacleOf: undefined for a user with a balance and a priced box", () => {
  assert.equal(obstacleOf(READY), undefined);
  const unknown = { balance: undefined, walletChainId: undefined };
  assert.equal(obstacleOf({ ...READY, ...unknown }), undefined);
});

for (const [index, [name, [change, button, text, then]]] of Object.entries(obstacles).entries()) {
  Deno.test(`obstacleOf: for ${name} there is one sentence and one button`, () => {
    // A field is corrected before a box is drawn.
    const later = Object.entries(obstacles).slice(index + 1)
      .filter(([, [{ errors }]]) => errors === undefined).map(([, [others]]) => others);
    for (const situation of [{ ...READY, ...change }, Object.assign({}, READY, ...later, change)]) {
      const found = obstacleOf(situation);
      assert.equal(found?.button, button);
      assert.match(found?.text ?? "", text);
      assert.deepEqual([found?.action, found?.field], [then?.action, then?.field]);
    }
  });
}

Deno.test("obstacleOf: a box that the maker refuses for its height can be fitted", () => {
  for (const code of ["PAYOUT_TOO_LOW", "RANGE_TOO_NARROW"]) {
    const obstacle = obstacleOf({ ...READY, unpriceable: { code, text: "?" } });
    assert.equal(obstacle?.action, "fit");
    assert.equal(obstacle && spokenText(obstacle), "? Press “Fit its height”, or M on the chart.");
  }
});

Deno.test("obstacleOf: without a box, a wrong time is corrected first, and empty prices are not wrong", () => {
  const empty = { ...FIELDS, lower: "", upper: "" };
  const found = (fields: typeof FIELDS) =>
    obstacleOf({ ...READY, isEmpty: true, errors: parseFields(fields).errors });
  assert.match(found(empty)?.text ?? "", /^Draw a box/);
  for (const field of ["startsIn", "lasts"] as const) {
    const wrong = found({ ...empty, [field]: "abc" });
    assert.deepEqual([wrong?.action, wrong?.field], ["correct", field]);
    assert.match(wrong?.text ?? "", /: Enter [18] s to 1 d[^.]*\.$/);
  }
});

Deno.test("unpriceableBy: a bet with more risk than the maker takes, or nearly nothing to win, is refused early", () => {
  const config = { basePayoutMultiplier: 1, maxPayoutRatio: 10 };
  const limits = { ...config, minBetAmount: 1n, maxBetAmount: 1_000_000_000_000n };
  const info = { config: { ...limits, minDuration: 1, maxDuration: 2 }, maxRisk: 10_000_000_000n };
  const bet = { ...BET, betAmount: 50_000_000_000n };
  const estimated = (payout: bigint) =>
    unpriceableBy({ bet, estimate: estimateOf(bet.betAmount, payout) }, info);
  assert.equal(estimated(60_000_000_000n), undefined);
  assert.equal(estimated(50_050_000_000n), undefined);
  assert.equal(estimated(50_049_999_999n)?.code, "PAYOUT_TOO_LOW");
  const { code, text } = estimated(82_195_460_000n) ?? assert.fail();
  assert.equal(code, "RISK_TOO_LARGE");
  assert.match(text, /^The maker does not risk that much on one bet\. Bet less, /);
});

Deno.test("unpriceableBy: names a maker that does not answer, and does not advise to try again", () => {
  const failure = new NetworkError("SERVICE_UNREACHABLE", "");
  assert.deepEqual(unpriceableBy({ bet: BET, failure }, undefined), {
    code: "SERVICE_UNREACHABLE",
    text: "The maker does not answer: no quotes now.",
  });
});

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

/** A new quote after a refusal, with half of the last payout. */
const REPLACED: QuotedStage = {
  name: "quoted",
  offer,
  refusal: REFUSAL,
  before: { payout: 2n * offer.quote.payout, isQuote: true },
};
const LATE = "Too late: the window has begun. Nothing was placed or taken.";
const OUTSIDE = /^The price is outside the box\. .* Sign within 1 s\.$/;
const SIGN = { button: "Sign and place the bet", action: "sign", back: BACK };
const RENEW = { button: "Ask for a new quote", action: "renew", look: "failure", back: BACK };
const sending = { name: "sending", offer, first: offer } as const;
const signing = { name: "signing", offer, first: offer, isAgain: false } as const;
const checked = { isChecking: true };

/** What a quote is followed by: the situation, the time, and the parts of the step, as far as it has them. */
const STEPS: Record<
  string,
  [
    Partial<QuoteSituation>,
    nowMs: number,
    step: Partial<Record<keyof ReturnType<typeof quoteStepOf>, string | RegExp>>,
  ]
> = {
  "a quote is renewed once its window has begun": [{}, 10_000, { ...RENEW, note: LATE }],
  "with the reason, if there is one": [{ stage: REPLACED }, 10_000, { ...RENEW, note: REFUSAL }],
  "a price outside the box is a warning": [
    { price: 13n },
    9_999,
    { ...SIGN, look: "warned", note: "", deadline: OUTSIDE },
  ],
  "a new quote after a refusal has one note with each change, apart from the deadline": [
    { stage: REPLACED, price: 13n },
    9_999,
    {
      ...SIGN,
      button: "Sign again: 0.00",
      look: "warned",
      note: /^Not placed\. New quote, .* It pays 50 % less /,
      deadline: OUTSIDE,
    },
  ],
  "with a chance, the next signature is for that, too": [
    { stage: { ...REPLACED, offer: { ...offer, probability: 0.402 } } },
    9_999,
    {
      ...SIGN,
      button: "Sign again: 0.00, chance 40.2 %",
      look: "warned",
      note: /^Not placed/,
      deadline: "Sign within 1 s.",
    },
  ],
  "a quote above the balance waits": [
    { balance: 9n },
    0,
    {
      ...SIGN,
      action: undefined,
      look: "failure",
      note: "Your balance is 0.000009 USDC now: bet less.",
    },
  ],
  "a quote of the whole balance can be signed or declined": [
    { balance: offer.quote.betAmount },
    0,
    { ...SIGN, note: "", deadline: "Sign within 10 s." },
  ],
  "nothing is signed without a connection": [
    { isAway: true },
    0,
    { button: "Waiting for live prices", note: "", back: BACK },
  ],
  "nothing is signed while an outcome is unknown": [
    { onItsWay: checked, isAway: true },
    0,
    { button: "Outcome unknown, checking …", note: /another signed bet/, back: BACK },
  ],
  "nothing is signed while another tab places a bet": [
    { onItsWay: { isChecking: false } },
    0,
    { button: "Your other tab is placing a bet …", note: /another signed bet/, back: BACK },
  ],
  "a bet that is sent waits": [
    { stage: sending, onItsWay: { isChecking: false } },
    0,
    { button: "Placing the bet …" },
  ],
  "while an answer is missing, it says until when at most": [
    { stage: sending, onItsWay: checked },
    0,
    {
      button: "Outcome unknown, checking …",
      note: new RegExp(
        `we will know by ${
          formatTime(35_000)
        } if the chain answers\\. You need not do anything\\.$`,
      ),
    },
  ],
  "a wallet asks for a signature while it is in time": [
    { stage: signing },
    9_999,
    { button: "Sign in your wallet …", note: "", deadline: "Sign within 1 s.", back: "Cancel" },
  ],
  "a wallet that still asks when it is too late is to be declined": [
    { stage: signing },
    10_000,
    { button: "Decline in your wallet …", note: "", deadline: LATE, back: "Cancel" },
  ],
  "a key signs again by itself": [
    { stage: { ...signing, isAgain: true }, isDevelopmentKey: true },
    0,
    { button: "Signing …", note: /one more signature/, deadline: "Sign within 10 s." },
  ],
};

for (const [name, [change, nowMs, { note, deadline, ...expected }]] of Object.entries(STEPS)) {
  Deno.test(`quoteStepOf: ${name}`, () => {
    const { note: shownNote, deadline: shownDeadline, ...others } = quoteStepOf(
      { ...QUOTED, ...change },
      nowMs,
    );
    assert.deepEqual({ action: undefined, ...others }, { action: undefined, ...expected });
    for (const [shown, text] of [[shownNote, note], [shownDeadline, deadline]]) {
      if (text instanceof RegExp) assert.match(`${shown}`, text);
      else assert.equal(shown, text);
    }
  });
}
