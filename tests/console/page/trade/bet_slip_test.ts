/** A bet on its way through the slip, with a client that the test answers for. */
import assert from "node:assert/strict";
import { type Bet, ExecutionError, NetworkError, WalletError } from "../../../../lib/client/mod.ts";
import type { EstimateState } from "../../../../services/console/page/data/estimator.ts";
import type { BetSlip } from "../../../../services/console/page/trade/bet_slip.ts";
import {
  changesOf,
  isMuchLess,
  type QuotedStage,
} from "../../../../services/console/page/trade/stage.ts";
import { QUOTE_LIFE_MS } from "../../../../services/console/page/trade/draft.ts";
import {
  BET,
  estimateOf,
  hashOf,
  offerOf,
  OTHER,
  SIGNATURE,
  thesisOf,
  USER,
} from "../../support.ts";
import { inStage, quoteOf, scene, stageOf, TOO_LATE } from "./bet_slip_scene.ts";
import { nextTurn } from "../../../support/eventually.ts";

const ESTIMATE = estimateOf(10n, 12n);

const NO_ANSWER =
  /^\(No answer yet\. Your bet was placed once or not at all; [^.]+\. You need not do anything\.\)$/;

/** Why no bet was placed on the box, as the panel says it. */
function reasonOf(slip: BetSlip): string {
  const { failure = "" } = inStage(slip, "draft");
  const words = /^No bet was placed on the box from [\d:]+; no money was taken\. (.*)$/;
  return words.exec(failure)?.[1] ?? assert.fail(failure);
}

Deno.test("BetSlip: a bet is quoted, signed and placed, and the box is cleared for the next bet", async () => {
  const { slip, pending, said } = scene();
  await slip.quote();
  assert.equal(stageOf(slip).name, "quoted");
  await slip.sign();
  const stage = inStage(slip, "placed");
  assert.equal(stage.thesisId, 7);
  assert.equal(slip.draft, undefined);
  assert.equal(slip.fields.value.amount, "10", "the amount stays");
  assert.deepEqual(pending.readBets(USER), []);
  assert.deepEqual(said, ["(Quote: sign within 8 s. It pays 12.00 USDC.)"]);
});

Deno.test("BetSlip: if the browser stores no more, a bet is shown as placed, and another market drops the quote", async () => {
  const { slip, store } = scene();
  const { setItem } = store;
  store.setItem = (name, text) => {
    if (name === "rangemaker.drafts") throw new DOMException("full", "QuotaExceededError");
    setItem(name, text);
  };
  await slip.quote();
  await slip.sign();
  assert.equal(stageOf(slip).name, "placed");
  slip.choose("BTC/USDT");
  slip.edit({ lower: "2990", upper: "3010" });
  await slip.quote();
  slip.choose("ETH/USDT");
  assert.equal(stageOf(slip).name, "draft");
  store.setItem = () => {
    throw new DOMException("full", "QuotaExceededError");
  };
  slip.edit({ lower: "2990", upper: "3010" });
  await slip.quote();
  await slip.sign();
  assert.match(
    inStage(slip, "draft").failure ?? "",
    /^No bet .* taken\. This browser stores no more/,
  );
});

Deno.test("BetSlip: an amount for one bet is replaced after it by the amount from before", async () => {
  for (const [amounts, after] of [[["1000"], "10"], [["1000", "1500"], "10"]] as const) {
    const { slip } = scene();
    for (const amount of amounts) slip.enterOnce(amount);
    assert.equal(slip.fields.value.amount, amounts.at(-1));
    await slip.quote();
    await slip.sign();
    assert.deepEqual([stageOf(slip).name, slip.fields.value.amount], ["placed", after]);
  }
  const { slip } = scene();
  slip.enterOnce("1000");
  slip.edit({ amount: "20" });
  await slip.quote();
  await slip.sign();
  assert.equal(slip.fields.value.amount, "20", "typed since");
});

Deno.test("BetSlip: a quote of an earlier box is dropped", async () => {
  const answers = [quoteOf, () => Promise.reject(new Error("too late to matter"))];
  for (const answer of answers) {
    let asked = 0;
    const late = Promise.withResolvers<void>();
    const { slip, said } = scene({
      quote: (bet) => (asked += 1, late.promise.then(() => answer(bet))),
    });
    const quoted = slip.quote();
    assert.deepEqual(slip.stage.value, { name: "quoting" });
    await slip.quote();
    assert.equal(asked, 1, "one at a time");
    slip.back();
    assert.equal(said.at(-1), "(Back to the box: no bet was placed.)");
    slip.edit({ upper: "3020" });
    late.resolve();
    await quoted;
    assert.deepEqual(slip.stage.value, { name: "draft" });
  }
});

Deno.test("BetSlip: a refused quote shows its reason, and the drawn box stays", async () => {
  const refused = new ExecutionError("EXPOSURE_TOO_LARGE", "no");
  const { slip, said } = scene({ quote: () => Promise.reject(refused) });
  slip.edit({ lasts: "5 s" });
  slip.estimator.state.value = { failure: "of before", bet: BET };
  await slip.quote();
  assert.equal(slip.estimator.state.value, undefined, "the next one is younger than the refusal");
  const failure =
    "No quote was made. The maker accepts no more risk right now. A smaller bet may fit.";
  assert.deepEqual(stageOf(slip), { name: "draft", failure, isSigned: false });
  assert.equal(said.at(-1), `(${failure})`);
  assert.deepEqual(slip.draft?.durationMs, 5_000);
});

Deno.test("BetSlip: a bet from before a reload is shown with its outcome, and its box is cleared", async () => {
  const { slip, user, said, pending } = scene();
  const { bets } = user.value?.portfolio ?? assert.fail();
  const { lowerPrice, upperPrice } = slip.draft ?? assert.fail();
  const offer = offerOf(8, { lowerPrice, upperPrice });
  pending.add({ offer, signature: SIGNATURE });
  bets.start();
  bets.confirm(thesisOf(8));
  await nextTurn();
  assert.deepEqual(stageOf(slip), { name: "placed", thesisId: 8, offer });
  assert.equal(slip.draft, undefined);
  assert.match(said.join(), NO_ANSWER);
  slip.edit({ lower: "1", upper: "2" });
  pending.add({ offer: offerOf(9, { lowerPrice, upperPrice }), signature: SIGNATURE });
  bets.start();
  bets.confirm(thesisOf(9));
  assert.equal(stageOf(slip).name, "draft", "the user has drawn another box");
});

Deno.test("BetSlip: if another tab places the same box, the box is cleared and the panel stays", async () => {
  const { slip, user } = scene();
  const { bets } = user.value?.portfolio ?? assert.fail();
  const { lowerPrice, upperPrice } = slip.draft ?? assert.fail();
  void bets.send({ offer: offerOf(8, { lowerPrice, upperPrice }), signature: SIGNATURE });
  bets.confirm(thesisOf(8));
  await nextTurn();
  assert.deepEqual([stageOf(slip), slip.draft], [{ name: "draft" }, undefined]);
});

Deno.test("BetSlip: a bet that expired while the page was closed is reported as not placed", async () => {
  const { slip, user, said, clock, chain } = scene({
    execute: () => Promise.reject(new NetworkError("SERVICE_UNREACHABLE", "gone")),
  });
  chain.isKnown = true;
  const { bets } = user.value?.portfolio ?? assert.fail();
  void bets.send({ offer: offerOf(8, { deadline: clock.now() + 1_000 }), signature: SIGNATURE });
  await nextTurn();
  assert.match(said.join(), NO_ANSWER);
  for (let second = 0; second < 12; second++) {
    clock.advance(1_000);
    await nextTurn();
  }
  assert.equal(reasonOf(slip), "No answer came in time.");
  assert.equal(said.at(-1), `(${inStage(slip, "draft").failure})`);
});

Deno.test("BetSlip: a bet that was refused after a reload is shown and spoken as not placed", async () => {
  const details = { usedUp: true };
  const refused = new ExecutionError("PRICE_MOVED", "It moved", { details, retry: "new_quote" });
  const { slip, user, said, pending, clock } = scene({ execute: () => Promise.reject(refused) });
  const { bets } = user.value?.portfolio ?? assert.fail();
  pending.add({ offer: offerOf(8), signature: SIGNATURE });
  bets.start();
  clock.advance(8_000);
  await nextTurn();
  const stage = inStage(slip, "draft");
  assert(stage.isSigned);
  assert.equal(
    reasonOf(slip),
    "The odds changed, and the maker no longer accepts this bet. Get a new quote.",
  );
  assert.equal(said.at(-1), `(${stage.failure})`);
});

Deno.test("BetSlip: a box is estimated every second, while it is valid and not quoted", async () => {
  const asked: Bet[] = [];
  const { slip, clock } = scene({}, (bet) => (asked.push(bet), Promise.resolve(ESTIMATE)));
  await nextTurn();
  clock.advance(1_000);
  await nextTurn();
  assert.deepEqual(asked.map(({ startTime }) => startTime), [1_008_000, 1_009_000]);
  assert.deepEqual(slip.estimator.state.value, { estimate: ESTIMATE, bet: asked[1] });
  await slip.quote();
  const stage = inStage(slip, "quoted");
  assert.deepEqual(stage.before, { payout: ESTIMATE.payout, isQuote: false });
  assert.equal(slip.estimate.value, undefined, "it would be old once the quote has expired");
  clock.advance(10_000);
  assert.equal(asked.length, 2);
  slip.back();
  await nextTurn();
  slip.edit({ upper: "3011" });
  assert.notEqual(slip.estimator.state.value, undefined, "the last one is shown until the next");
  slip.edit({ upper: "0" });
  assert.equal(slip.estimator.state.value, undefined);
});

Deno.test("BetSlip: a quote shows its own chance, and is not compared with an estimate of other terms", async () => {
  const late = { betAmount: 1_000_000n, payout: 1_180_000n, probability: 0.8 };
  const others = [{ betAmount: 1_000_000n }, { endTime: BET.endTime + 100 }, {
    deadline: 1_029_900,
  }];
  for (const other of others) {
    const { slip, said } = scene({
      quote: (bet) => Promise.resolve({ ...quoteOf(bet), probability: 0.471 }),
    });
    slip.estimator.state.value = { estimate: late, bet: { ...BET, ...other } } as EstimateState;
    assert.equal(slip.terms, "");
    await slip.quote();
    const stage = inStage(slip, "quoted");
    assert.deepEqual([stage.offer.probability, stage.before], [0.471, undefined]);
    const terms = "pays 12.00 USDC (× 1.20), chance 47.1 %, break-even 83.3 %";
    assert.equal(slip.terms, `The quote ${terms}. Sign within 8 s.`);
    assert.deepEqual(said, ["(Quote: sign within 8 s. It pays 12.00 USDC.)"]);
  }
});

Deno.test("BetSlip: a bet that the chain lacks after its deadline was not placed", async () => {
  const lost = new NetworkError("SERVICE_TIMEOUT", "late");
  const { slip, clock, chain } = scene({ execute: () => Promise.reject(lost) });
  chain.isKnown = true;
  await slip.quote();
  const placed = slip.sign();
  for (let seconds = 0; seconds < 40; seconds++) {
    await nextTurn();
    clock.advance(1_000);
  }
  await placed;
  assert.equal(reasonOf(slip), "No answer came in time.");
  assert.notEqual(slip.draft, undefined, "the box stays");
});

Deno.test("BetSlip: a prompt that was open for too long sends nothing", async () => {
  let sent = 0;
  const { slip, clock, pending, said } = scene({
    sign() {
      clock.jump(QUOTE_LIFE_MS);
      return Promise.resolve(SIGNATURE);
    },
    execute() {
      sent += 1;
      return Promise.resolve({ thesisId: 1, txHash: hashOf(1) });
    },
  });
  await slip.quote();
  await slip.sign();
  assert.equal(sent, 0);
  assert.deepEqual(pending.readBets(USER), []);
  assert.equal(said.at(-1), TOO_LATE);
});

const failures: [code: string, client: Parameters<typeof scene>[0], reason: RegExp][] = [
  [
    "INSUFFICIENT_BALANCE",
    { execute: () => Promise.reject(new ExecutionError("INSUFFICIENT_BALANCE", "no")) },
    /Your balance is too small/,
  ],
  [
    "USER_REJECTED",
    { sign: () => Promise.reject(new WalletError("USER_REJECTED", "no")) },
    /You rejected the request/,
  ],
  [
    "WRONG_CHAIN",
    { sign: () => Promise.reject(new WalletError("WRONG_CHAIN", "", { details: { actual: 5 } })) },
    /The wallet is on another chain\. Switch it, and get a new quote\.$/,
  ],
];

for (const [code, client, reason] of failures) {
  Deno.test(`BetSlip: after ${code}, the reason is shown and spoken, and only the box stays`, async () => {
    const { slip, pending, said, user } = scene(client);
    await slip.quote();
    await slip.sign();
    const stage = inStage(slip, "draft");
    assert.match(stage.failure ?? "", reason);
    assert.match(
      said.at(-1) ?? "",
      /^\(No bet was placed on the box from [\d:]+; no money was taken\. /,
    );
    assert.notEqual(slip.draft, undefined);
    assert.deepEqual(pending.readBets(USER), []);
    const chainId = code === "WRONG_CHAIN" ? 5 : undefined;
    assert.equal(user.value?.walletChainId.value, chainId, "the account shows the chain");
  });
}

Deno.test("BetSlip: while the outcome of a signed bet is unknown, nothing is changed, quoted or signed", async () => {
  let quoted = 0;
  const { slip, pending, clock } = scene({
    quote: (bet) => (quoted += 1, Promise.resolve(quoteOf(bet))),
    execute: () => Promise.reject(new NetworkError("SERVICE_TIMEOUT", "late")),
  });
  await slip.quote();
  void slip.sign();
  await nextTurn();
  assert.deepEqual(pending.readBets(USER).map(({ signature }) => signature), [SIGNATURE]);
  const { stage, fields, symbol } = slip;
  const before = [stage.value, fields.value, symbol.value];
  slip.edit({ upper: "3020" });
  slip.clear();
  slip.choose("BTC/USDT");
  slip.back();
  await slip.quote();
  assert.deepEqual([stage.value, fields.value, symbol.value], before);
  assert.equal(stageOf(slip).name, "sending");
  clock.advance(3_600_000);
  assert.equal(quoted, 1);
});

Deno.test("BetSlip: while a bet of another tab is being placed, this tab neither quotes nor signs", async () => {
  let signed = 0;
  const { slip, user } = scene({
    sign: () => (signed += 1, Promise.resolve(SIGNATURE)),
    execute: () => new Promise(() => {}),
  });
  const { bets } = user.value?.portfolio ?? assert.fail();
  await slip.quote();
  void bets.send({ offer: offerOf(8), signature: SIGNATURE });
  await slip.sign();
  assert.deepEqual([signed, stageOf(slip).name], [0, "quoted"]);
  slip.back();
  await slip.quote();
  assert.equal(stageOf(slip).name, "draft");
  bets.confirm(thesisOf(8));
  await slip.quote();
  assert.equal(stageOf(slip).name, "quoted");
});

Deno.test("BetSlip: a prompt that is answered while another tab places a bet sends no second one", async () => {
  const prompt = Promise.withResolvers<typeof SIGNATURE>();
  let sent = 0;
  const { slip, user } = scene({
    sign: () => prompt.promise,
    execute: () => (sent += 1, new Promise(() => {})),
  });
  await slip.quote();
  void slip.sign();
  // As the keeper does with a bet that another tab has stored.
  const { unresolved } = user.value?.portfolio.bets ?? assert.fail();
  unresolved.value = [{ offer: offerOf(8), signature: SIGNATURE, isChecking: true }];
  prompt.resolve(SIGNATURE);
  await nextTurn();
  assert.deepEqual([stageOf(slip).name, sent], ["quoted", 0]);
});

Deno.test("BetSlip: a change of account drops the quote, the estimate and a pending signature", async () => {
  for (const step of ["quoted", "signing"] as const) {
    const prompt = Promise.withResolvers<typeof SIGNATURE>();
    let sent = 0;
    const { slip, user, userOf } = scene({
      sign: () => prompt.promise,
      execute: () => (sent += 1, Promise.resolve({ thesisId: 1, txHash: hashOf(1) })),
    });
    await slip.quote();
    const placed = step === "signing" ? slip.sign() : undefined;
    slip.estimator.state.value = { failure: "old", bet: BET };
    user.value = userOf(OTHER);
    prompt.resolve(SIGNATURE);
    await placed;
    assert.deepEqual([slip.stage.value, sent], [{ name: "draft" }, 0], step);
    assert.equal(slip.estimator.state.value, undefined);
    assert.notEqual(slip.draft, undefined, "the box stays");
  }
});

Deno.test("BetSlip: a bet on its way when the chain is reset keeps nobody from the next one", async () => {
  const { slip, user, userOf, chain, clock } = scene({
    execute: () => Promise.reject(new NetworkError("SERVICE_TIMEOUT", "late")),
  });
  await slip.quote();
  void slip.sign();
  await nextTurn();
  assert.equal(stageOf(slip).name, "sending");
  // As `Session.restart` does.
  const before = user.value ?? assert.fail();
  before.portfolio.bets.close();
  const { portfolio } = userOf(USER);
  user.value = { ...before, portfolio };
  portfolio.bets.start();
  await nextTurn();
  chain.isKnown = true;
  for (const ms of [60_000, 1_000]) {
    clock.advance(ms);
    await nextTurn();
  }
  assert.match(inStage(slip, "draft").failure ?? "", /^No bet was placed/);
  await slip.quote();
  assert.equal(stageOf(slip).name, "quoted");
});

Deno.test("BetSlip: a reset of the chain removes a placed bet from the slip", async () => {
  const { slip, user, userOf } = scene();
  await slip.quote();
  await slip.sign();
  assert.equal(stageOf(slip).name, "placed");
  const before = user.value ?? assert.fail();
  user.value = { ...before, portfolio: userOf(USER).portfolio };
  assert.equal(stageOf(slip).name, "draft");
});

Deno.test("changesOf: a quote within 1 % of the estimate shows no change; 5 % below it is a warning", () => {
  const changes = (payout: bigint) => {
    const before = { payout: 20_000_000n, isQuote: false };
    const stage: QuotedStage = {
      name: "quoted",
      offer: offerOf(1, { payout }),
      before,
    };
    return [isMuchLess(stage), changesOf(stage)];
  };
  assert.deepEqual(changes(19_850_000n), [false, ""]);
  const than = "than the estimate of 20.00 USDC";
  assert.deepEqual(changes(19_400_000n), [false, `It pays 3 % less ${than}.`]);
  assert.deepEqual(changes(22_000_000n), [false, `It pays 10 % more ${than}.`]);
  assert.deepEqual(changes(14_000_000n), [true, `It pays 30 % less ${than}.`]);
});

Deno.test("BetSlip: each market keeps its box across a reload, for an hour", () => {
  const { slip, open, clock } = scene();
  const { draft } = slip;
  const state = slip.estimator.state.value = { failure: "shown", bet: BET };
  slip.choose("ETH/USDT");
  assert.equal(slip.estimator.state.value, state, "the same market");
  slip.edit({ amount: "abc" });
  assert.deepEqual(slip.draft, draft, "with a wrong amount, too");
  slip.choose("BTC/USDT");
  assert.equal(slip.draft, undefined);
  slip.edit({ lower: "1", upper: "2", amount: "33" });
  slip.estimator.state.value = state;
  slip.choose("ETH/USDT");
  assert.equal(slip.estimator.state.value, undefined, "what the box of the other market pays");
  assert.deepEqual([slip.draft, slip.fields.value.amount], [draft, "33"]);
  assert.deepEqual(open().draft, draft);
  clock.advance(3_600_000);
  assert.equal(open().draft, undefined);
});

Deno.test("BetSlip: a change of account or a dropped quote stores no box over that of another tab", async () => {
  const { slip, open, user, userOf } = scene();
  const idle = open();
  await idle.quote();
  slip.edit({ lower: "1", upper: "9000", amount: "100" });
  idle.back();
  assert.deepEqual(open().fields.value, slip.fields.value);
  user.value = userOf(OTHER);
  assert.deepEqual(open().fields.value, slip.fields.value);
});

Deno.test("BetSlip: without an account or a complete box no quote is requested, without a quote no bet placed", async () => {
  const { slip, user, untouched } = scene({ quote: () => assert.fail("Nothing is quoted") });
  const empty = { lower: "", upper: "", startsIn: "20 s", lasts: "1 min", amount: "10" };
  assert.deepEqual(untouched, empty);
  slip.edit({ amount: "" });
  await slip.quote();
  await slip.sign();
  assert.deepEqual(slip.stage.value, { name: "draft" });
  slip.edit({ amount: "10" });
  user.value = undefined;
  await slip.quote();
  assert.deepEqual(slip.stage.value, { name: "draft" });
});
