import assert from "node:assert/strict";
import {
  chainObstacle,
  fieldErrorsOf,
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
import { offerOf, SIGNATURE } from "../../offers.ts";

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
  parsed: parseFields(FIELDS),
  unpriceable: undefined,
  limits: { minBetAmount: 1n, maxBetAmount: 10_000_000n },
};

const QUOTE = "Get a quote";

const signed = { offer: offerOf(1), signature: SIGNATURE };

/** In order of priority: each is shown even if all later ones apply too. */
const obstacles: readonly [
  name: string,
  change: Partial<Situation>,
  button: string,
  text: RegExp,
][] = [
  [
    "a bet on its way",
    { onItsWay: { ...signed, isChecking: true } },
    "Outcome unknown, checking …",
    /^No answer yet/,
  ],
  [
    "a bet that another tab is placing",
    { onItsWay: { ...signed, isChecking: false } },
    "Your other tab is placing a bet …",
    /^$/,
  ],
  ["no live prices", { market: "away" }, "Waiting for live prices", /^$/],
  ["no box", { isEmpty: true }, "Suggest a box", /^Draw a box/],
  [
    "wrong fields",
    { parsed: { errors: { lower: "?", lasts: "!" } } },
    "Check “Stays above”",
    /^Stays above: \?\.$/,
  ],
  [
    "more than the balance",
    { balance: 9_999_999n },
    "Check “You bet”",
    /^You bet: Enter at most 9\.999999 USDC, your balance\.$/,
  ],
  [
    "less than the maker takes",
    { limits: { minBetAmount: 10_500_000n, maxBetAmount: 20_000_000n } },
    "Check “You bet”",
    /^You bet: Enter at least 10\.50 USDC, the maker’s smallest bet\.$/,
  ],
  [
    "more than the maker takes",
    { limits: { minBetAmount: 1n, maxBetAmount: 9_999_999n } },
    "Check “You bet”",
    /^You bet: Enter at most 9\.999999 USDC, the maker’s largest bet\.$/,
  ],
  [
    "a price that left the box",
    { unpriceable: { code: "OUTSIDE_RANGE", text: "It left." } },
    "Move the box to the price",
    /^It left\.$/,
  ],
  ["no price for the box", { unpriceable: { code: "X", text: "Too low." } }, QUOTE, /^Too low\.$/],
  ["a stranger", { hasUser: false }, QUOTE, /^Open your account first\.$/],
  ["no money", { balance: 0n }, QUOTE, /^Take money to bet with first\.$/],
  [
    "a wallet on another chain",
    { walletChainId: 5 },
    "Switch the wallet’s chain",
    /^The wallet is on chain 5; bets are on chain 1337\.$/,
  ],
  [
    "a node of another chain",
    { nodeChainId: 9 },
    QUOTE,
    /^The node has chain 9, and this page is for chain 1337\.$/,
  ],
  ["a node that has not answered", { nodeChainId: undefined }, "Connecting …", /Asking the node/],
];

Deno.test("obstacleOf: undefined for a user with a balance and a priced box", () => {
  assert.equal(obstacleOf(READY), undefined);
  const unknown = { balance: undefined, walletChainId: undefined, limits: undefined };
  assert.equal(obstacleOf({ ...READY, ...unknown }), undefined);
});

Deno.test("obstacleOf: an invalid time must be corrected before a box is suggested", () => {
  for (const field of ["startsIn", "lasts"] as const) {
    const parsed = parseFields({ ...FIELDS, lower: "", upper: "", [field]: "abc" });
    const found = obstacleOf({ ...READY, isEmpty: true, parsed });
    assert.deepEqual([found?.action, found?.field], ["correct", field]);
  }
});

for (const [index, [name, change, button, text]] of obstacles.entries()) {
  Deno.test(`obstacleOf: for ${name} there is one sentence and one button`, () => {
    const later = obstacles.slice(index + 1).filter(([other]) => other !== "wrong fields")
      .map(([, others]) => others);
    for (const situation of [{ ...READY, ...change }, Object.assign({}, READY, ...later, change)]) {
      const found = obstacleOf(situation);
      assert.equal(found?.button, button);
      assert.match(found?.text ?? "", text);
      assert.equal(found?.action === "switch", name === "a wallet on another chain");
      assert.equal(found?.action === "suggest", name === "no box");
      const isAmount = name.startsWith("more than") || name.startsWith("less than");
      assert.equal(
        found?.field,
        isAmount ? "amount" : name === "wrong fields" ? "lower" : undefined,
      );
      assert.equal(found?.action === "move", name === "a price that left the box");
    }
  });
}

Deno.test("fieldErrorsOf: every wrong field has its error, including an amount above the balance", () => {
  const parsed = parseFields({ ...FIELDS, lower: "abc", amount: "5000" });
  const wrong = fieldErrorsOf({ ...READY, parsed });
  assert.deepEqual(Object.keys(wrong), ["lower", "amount"]);
  assert.equal(obstacleOf({ ...READY, parsed })?.field, "lower");
  assert.deepEqual(fieldErrorsOf({ ...READY, parsed, balance: 0n, limits: undefined }), {
    lower: wrong.lower,
  });
});

Deno.test("obstacleOf: a box that the maker refuses for its height can be fitted", () => {
  for (const code of ["PAYOUT_TOO_LOW", "RANGE_TOO_NARROW"]) {
    const obstacle = obstacleOf({ ...READY, unpriceable: { code, text: "?" } });
    assert.equal(obstacle?.action, "fit");
    assert.equal(obstacle && spokenText(obstacle), "? Press “Fit its height”, or M on the chart.");
  }
});

Deno.test("obstacleOf: without a box, it reports a wrong time, but not empty prices", () => {
  const empty = { ...FIELDS, lower: "", upper: "" };
  const found = (fields: typeof FIELDS) =>
    obstacleOf({ ...READY, isEmpty: true, parsed: parseFields(fields) });
  assert.match(found(empty)?.text ?? "", /^Draw a box/);
  const wrong = found({ ...empty, startsIn: "abc" });
  assert.equal(wrong?.field, "startsIn");
  assert.match(wrong?.text ?? "", /^Starts in: Enter 8 s to 1 d[^.]*\.$/);
});

Deno.test("chainObstacle: undefined with a key or a wallet on the right chain", () => {
  assert.equal(chainObstacle(undefined, 1), undefined);
  assert.equal(chainObstacle(1, 1), undefined);
  assert.equal(chainObstacle(2, 1)?.action, "switch");
});

Deno.test("unpriceableBy: a bet with more risk than the maker executes is refused before its quote, with the largest one", () => {
  const config = { ...READY.limits, basePayoutMultiplier: 1, maxPayoutRatio: 10 };
  const limits = { ...config, minBetAmount: 1n, maxBetAmount: 1_000_000_000_000n };
  const info = { config: { ...limits, minDuration: 1, maxDuration: 2 }, maxRisk: 10_000_000_000n };
  const bet = {
    symbol: "ETH/USDT",
    betAmount: 50_000_000_000n,
    startTime: 1,
    endTime: 2,
    lowerPrice: 1n,
    upperPrice: 2n,
  };
  const estimate = { betAmount: bet.betAmount, multiplier: "1.6", solverCollateral: 1n };
  const estimated = (payout: bigint) =>
    unpriceableBy({ bet, estimate: { ...estimate, payout } }, info);
  assert.equal(estimated(60_000_000_000n), undefined);
  assert.deepEqual(estimated(82_195_460_000n), {
    code: "RISK_TOO_LARGE",
    text: "The maker takes at most 15,530.13 USDC on this box.",
    most: 15_530_130_000n,
  });
});

Deno.test("obstacleOf: the button bets the most that the maker takes, if the balance allows it", () => {
  const parsed = parseFields({ ...FIELDS, amount: "50" });
  const limits = { minBetAmount: 1n, maxBetAmount: 1_000_000_000n };
  const unpriceable = { code: "RISK_TOO_LARGE", text: "", most: 20_000_000n };
  const found = (balance: bigint) => obstacleOf({ ...READY, parsed, limits, unpriceable, balance });
  assert.deepEqual(found(1_000_000_000n), {
    button: "Bet 20.00 USDC",
    field: "amount",
    action: "reduce",
    amount: 20_000_000n,
    text: "You bet: Enter at most 20.00 USDC: the maker takes no more on this box.",
  });
  assert.equal(found(15_000_000n)?.amount, undefined, "the balance is less");
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

/** A new quote after a refusal, with half of the last payout. */
const REPLACED: QuotedStage = {
  name: "quoted",
  offer,
  refusal: REFUSAL,
  before: { payout: 2n * offer.quote.payout, isQuote: true },
};

Deno.test("quoteStepOf: one note lists every change since the last quote", () => {
  const { look, note, deadline, button } = quoteStepOf({ ...QUOTED, stage: REPLACED }, 0);
  assert.match(deadline ?? "", /^Sign within 10 s\./, "apart: a long note may be cut off");
  assert.equal(button, "Sign again: 0.00");
  assert.equal(look, "warned", "half of what it paid");
  assert.match(
    note ?? "",
    /^Not placed\. New quote, .* It pays 50 % less /,
  );
});

Deno.test("quoteStepOf: a price outside the box is reported together with the deadline", () => {
  const { note, deadline } = quoteStepOf({ ...QUOTED, stage: REPLACED, price: 13n }, 0);
  assert.match(note ?? "", /^Not placed\. /);
  assert.match(deadline ?? "", /^The price is outside the box\. /);
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
  assert(note?.endsWith(`we will know by ${formatTime(35_000)}. You need not do anything.`), note);
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
