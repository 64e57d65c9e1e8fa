/** A bet on its way through the slip, with a client that the test answers for. */
import assert from "node:assert/strict";
import { signal } from "@preact/signals";
import {
  type Address,
  type Bet,
  type Estimate,
  ExecutionError,
  NetworkError,
  type Offer,
  type RangemakerClient,
  WalletError,
} from "../../../../lib/client/mod.ts";
import { BetKeeper } from "../../../../services/console/page/data/bet_keeper.ts";
import { type EstimateState, Estimator } from "../../../../services/console/page/data/estimator.ts";
import { PendingBets } from "../../../../services/console/page/data/pending_bets.ts";
import type { User } from "../../../../services/console/page/data/session.ts";
import { BetSlip } from "../../../../services/console/page/trade/bet_slip.ts";
import type { Obstacle } from "../../../../services/console/page/trade/next_step.ts";
import { changesOf, isWorse } from "../../../../services/console/page/trade/odds.ts";
import type { QuotedStage, Stage } from "../../../../services/console/page/trade/stage.ts";
import { DraftStore } from "../../../../services/console/page/trade/draft_store.ts";
import { QUOTE_LIFE_MS } from "../../../../services/console/page/trade/draft.ts";
import { formatCents, formatTime } from "../../../../services/console/page/parts/format.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryStore } from "../../memory_store.ts";
import { hashOf, offerOf, OTHER, SIGNATURE, thesisOf, USER } from "../../offers.ts";

type Client = Pick<RangemakerClient, "quote" | "sign" | "execute">;

function quoteOf({ symbol: _, deadline = 0, ...terms }: Bet): Offer {
  return offerOf(7, { ...terms, deadline, payout: 12_000_000n });
}

const ESTIMATE: Estimate = {
  betAmount: 10n,
  payout: 12n,
  multiplier: "1.2000",
  solverCollateral: 2n,
};

/** The bet of the scene's fields at its start. */
const BET: Bet = {
  symbol: "ETH/USDT",
  lowerPrice: 2_990_000_000n,
  upperPrice: 3_010_000_000n,
  betAmount: 10_000_000n,
  startTime: 1_008_000,
  endTime: 1_023_000,
  deadline: 1_030_000,
};

function scene(
  client: Partial<Client> = {},
  estimate: (bet: Bet) => Promise<Estimate> = () => new Promise(() => {}),
) {
  const clock = new FakeClock(1_000_000);
  const store = memoryStore();
  const pending = new PendingBets(store);
  const said: string[] = [];
  const removed: string[] = [];
  const chain = { isKnown: false };
  const obstacle: { now: Obstacle | undefined } = { now: undefined };
  const answers: Client = {
    quote: (bet) => Promise.resolve(quoteOf(bet)),
    sign: () => Promise.resolve(SIGNATURE),
    execute: () => Promise.resolve({ thesisId: 7, txHash: hashOf(7) }),
    ...client,
  };
  const userOf = (address: Address): User => {
    const bets = new BetKeeper({
      client: answers,
      user: address,
      pending,
      clock,
      serverClock: clock,
      hasAllTheses: () => chain.isKnown,
      onResolved() {},
    });
    const portfolio = { refresh: () => Promise.resolve(), bets };
    // The slip uses these parts of a user alone.
    const walletChainId = signal(undefined);
    return { address, client: answers, portfolio, walletChainId } as unknown as User;
  };
  const user = signal<User | undefined>(userOf(USER));
  const open = () =>
    new BetSlip("ETH/USDT", {
      session: { user },
      estimator: new Estimator({ estimate, clock }),
      serverClock: clock,
      clock,
      drafts: new DraftStore(store, clock),
      maker: { info: signal(undefined) },
      obstacle: () => obstacle.now,
      announce(text, { isSpoken = false } = {}) {
        said.push(isSpoken ? `(${text})` : text);
        return () => removed.push(text);
      },
    });
  const slip = open();
  const untouched = slip.fields.value;
  slip.edit({ lower: "2990", upper: "3010", startsIn: "8", lasts: "15", amount: "10" });
  return {
    clock,
    pending,
    said,
    removed,
    slip,
    open,
    user,
    userOf,
    chain,
    obstacle,
    untouched,
  };
}

const TOO_LATE =
  "(Too late: the window has begun. Nothing was placed or taken. Enter asks for a new quote.)";

const settle = () => new Promise((resolve) => setTimeout(resolve));

/** The current stage, whose type earlier assertions do not narrow. */
const stageOf = (slip: BetSlip): Stage => slip.stage.value;

Deno.test("BetSlip: a bet is quoted, signed and placed, and the box is cleared for the next bet", async () => {
  const { slip, pending, said } = scene();
  await slip.quote();
  assert.equal(stageOf(slip).name, "quoted");
  await slip.sign();
  const stage = stageOf(slip);
  assert(stage.name === "placed");
  assert.equal(stage.thesisId, 7);
  assert.equal(slip.draft, undefined);
  assert.equal(slip.fields.value.amount, "10", "the amount stays");
  assert.equal(slip.replaced.value, undefined, "it does not come back: it would be a second bet");
  assert.deepEqual(pending.of(USER), []);
  assert.deepEqual(said, ["(Quote: sign within 8 s. It pays 12.00 USDC.)"]);
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

Deno.test("BetSlip: undo restores a changed or cleared box, a second undo reverts that; the amount stays", () => {
  const { slip } = scene();
  const { lower } = slip.fields.value;
  slip.saveForUndo();
  for (const low of ["2991", "2992"]) slip.edit({ lower: low });
  slip.edit({ amount: "50" });
  const lowerAfter = (change: () => void) => (change(), slip.fields.value.lower);
  assert.equal(lowerAfter(() => slip.undo()), lower);
  assert.equal(slip.fields.value.amount, "50");
  assert.equal(lowerAfter(() => slip.undo()), "2992");
  assert.equal(lowerAfter(() => slip.clear()), "");
  assert.equal(lowerAfter(() => slip.undo()), "2992");
  slip.choose("BTC/USDT");
  assert.equal(slip.replaced.value, undefined, "a box of another market");
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
  assert.match(said.at(-1) ?? "", /^\(The maker accepts no more risk right now/, "it is shown");
  assert.deepEqual(slip.draft?.durationMs, 5_000);
});

/** A solver that refuses the first signatures as the price moved; payouts of its quotes. */
function moving(refusals: number, payouts: readonly bigint[]) {
  const quoted: Bet[] = [];
  const signed: Offer[] = [];
  const result = scene({
    quote(bet) {
      const payout = payouts[quoted.length] ?? payouts.at(-1) ?? 0n;
      quoted.push(bet);
      const offer = offerOf(quoted.length, { ...quoteOf(bet).quote, payout });
      return Promise.resolve({ ...offer, probability: 0.48 });
    },
    sign: (offer) => (signed.push(offer), Promise.resolve(SIGNATURE)),
    execute({ quote }) {
      const code = quote.payout < payouts[0]! ? "PRICE_MOVED" : "PRICE_IMPROVED";
      if (signed.length <= refusals) {
        return Promise.reject(new ExecutionError(code, "It moved", { retry: "new_quote" }));
      }
      return Promise.resolve({ thesisId: 7, txHash: hashOf(7) });
    },
  });
  return { ...result, quoted, signed };
}

Deno.test("BetSlip: a payout that moved within the tolerance is signed again at once, for the same window", async () => {
  for (const payout of [10_200_000n, 12_000_000n, 13_800_000n]) {
    const { slip, clock, quoted, signed, said, removed, pending } = moving(2, [
      12_000_000n,
      payout,
    ]);
    await slip.quote();
    clock.jump(1_000); // the quote is read
    await slip.sign();
    const stage = stageOf(slip);
    assert(stage.name === "placed");
    assert.equal(stage.offer.quote.payout, payout);
    assert.deepEqual([quoted.length, signed.length], [3, 3]);
    assert.equal(
      new Set(quoted.map(({ startTime, endTime }) => `${startTime} ${endTime}`)).size,
      1,
    );
    const hasMoved = payout !== 12_000_000n;
    const pays = `it pays ${formatCents(payout)} USDC`;
    assert.deepEqual(
      said.slice(1),
      hasMoved
        ? [`(You signed for 12.00 USDC; the odds changed as you did: ${pays}, chance 48.0 %.)`]
        : [],
    );
    // It stays with the bet.
    assert.equal(stage.signedFirst, hasMoved ? signed[0] : undefined);
    assert.deepEqual(
      removed.map((text) => `(${text})`),
      [said[0]],
      "the quote is not on offer any more",
    );
    assert.deepEqual(pending.of(USER), []);
  }
});

Deno.test("BetSlip: payouts within the tolerance are signed until the bet is placed", async () => {
  const payouts = [120n, 121n, 119n, 118n, 122n, 123n].map((payout) => payout * 100_000n);
  const { slip, signed } = moving(5, payouts);
  await slip.quote();
  await slip.sign();
  const stage = stageOf(slip);
  assert(stage.name === "placed");
  assert.deepEqual([stage.offer.quote.payout, signed.length], [12_300_000n, 6]);
});

Deno.test("BetSlip: once its window has begun, the user decides on another quote, and hears what helps", async () => {
  for (const takesMs of [2_000, 9_000]) { // an answer is overdue after 6 s
    const result = scene({
      async execute() {
        result.clock.advance(takesMs);
        await settle();
        const details = { usedUp: true };
        throw new ExecutionError("PRICE_MOVED", "It moved", { details, retry: "new_quote" });
      },
    });
    const { slip, said } = result;
    await slip.quote();
    await slip.sign();
    const stage = stageOf(slip);
    assert(stage.name === "quoted");
    const why = takesMs < 6_000
      ? "the odds changed faster than your bet got through. Taller, longer or later boxes are easier"
      : "no answer came before its window began.";
    assert(stage.refusal?.startsWith(`Not placed, nothing taken: ${why}`), stage.refusal);
    assert(said.at(-1)?.includes(stage.refusal ?? "?"), said.at(-1));
  }
});

Deno.test("BetSlip: beyond the tolerance, in either direction, the user decides", async () => {
  const cases = [
    { tolerance: 5, payouts: [12_000_000n, 11_399_999n], signatures: 1, percent: 5.1 },
    { tolerance: 5, payouts: [12_000_000n, 12_600_001n], signatures: 1, percent: 5.1 },
    {
      tolerance: 10,
      payouts: [12_000_000n, 11_500_000n, 11_000_000n, 10_700_000n],
      signatures: 3,
      percent: 10.9,
    },
    {
      tolerance: 10,
      payouts: [12_000_000n, 12_500_000n, 13_000_000n, 13_300_000n],
      signatures: 3,
      percent: 10.9,
    },
    { tolerance: 0, payouts: [12_000_000n, 11_999_999n], signatures: 1, percent: 0.1 },
    { tolerance: 50, payouts: [12_000_000n, 9_999_999n], signatures: 1, percent: undefined }, // less than the stake
  ];
  for (const { tolerance, payouts, signatures, percent } of cases) {
    const { slip, signed, said, open } = moving(99, payouts);
    slip.setTolerance(tolerance);
    assert.equal(open().tolerancePercent.value, tolerance, "kept in the browser");
    await slip.quote();
    await slip.sign();
    const stage = stageOf(slip);
    assert(stage.name === "quoted");
    assert.equal(signed.length, signatures);
    const heard = { payout: signed[0]?.quote.payout, isQuote: true };
    assert.deepEqual(stage.before, heard);
    assert.notEqual(stage.offer.quoteHash, signed.at(-1)?.quoteHash);
    const from = formatTime(stage.offer.quote.startTime);
    const pays = `New quote: sign within 8 s. It pays ${
      formatCents(stage.offer.quote.payout)
    } USDC. `;
    const change = percent === undefined
      ? "it would now pay less than you bet. "
      : `the payout changed by ${percent} %, and you accept ${tolerance} %. `;
    const why = `Not placed, nothing taken: ${change}`;
    const advice = (payouts.at(-1) ?? 0n) > 12_000_000n
      ? "A better payout means a smaller chance, so you sign again. "
      : "Taller, longer or later boxes are easier to place. ";
    const text = `(${pays}${why}${advice}New quote, from ${from}.`;
    assert(said.at(-1)?.startsWith(text), said.at(-1));
    const isMuch = Math.abs(Number(stage.offer.quote.payout) / 12_000_000 - 1) >= 0.01;
    const than = / % (less|more) than the 12\.00 USDC that you signed for\.\)$/;
    assert.equal(than.test(said.at(-1) ?? ""), isMuch, said.at(-1));
    assert.equal(said.length, 2);
  }
});

Deno.test("BetSlip: a maker that refuses each of its own quotes is not asked for ever", async () => {
  const { slip, signed } = moving(99, [12_000_000n]);
  await slip.quote();
  await slip.sign();
  const stage = stageOf(slip);
  assert(stage.name === "quoted");
  assert.match(stage.refusal ?? "", /the odds changed faster than your bet got through\. Taller/);
  assert.equal(signed.length, 31);
});

Deno.test("BetSlip: a finger that hammers signs nothing until it has rested for a second", async () => {
  const { slip, clock, said } = scene();
  slip.edit({ startsIn: "60 s" });
  await slip.quote();
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

Deno.test("BetSlip: a press 0.4 s after a quote appears signs it", async () => {
  const { slip, clock } = scene();
  await slip.quote();
  clock.advance(400);
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
    const stage = stageOf(slip);
    assert(stage.name === "quoted");
    assert.equal(announced[0], !begun, "one more signature was announced only if it may follow");
    assert.equal(stage.offer.quote.startTime, clock.now() + 8_000);
    const why = begun
      ? "the odds changed faster than your bet got through"
      : "the payout changed by 0.1 %, and you accept 0 %";
    assert(said.at(-1)?.includes(`Not placed, nothing taken: ${why}. `));
  }
});

Deno.test("BetSlip: once its window has begun, a quote is neither signed nor sent", async () => {
  let signed = 0;
  const { slip, clock, said } = scene({ sign: () => (signed++, Promise.resolve(SIGNATURE)) });
  await slip.quote();
  clock.advance(8_000);
  assert.deepEqual(said.slice(1), [TOO_LATE]);
  await slip.sign();
  assert.deepEqual([stageOf(slip).name, signed], ["quoted", 0]);
});

Deno.test("BetSlip: if the chain is reset while a new quote is asked for, the user decides on it", async () => {
  let asked = 0;
  const signed: Offer[] = [];
  const result = scene({
    quote(bet) {
      asked += 1;
      if (asked === 2) result.user.value = result.userOf(USER); // as the session does
      return Promise.resolve(quoteOf(bet));
    },
    sign: (offer) => (signed.push(offer), Promise.resolve(SIGNATURE)),
    execute: () =>
      Promise.reject(new ExecutionError("PRICE_MOVED", "It moved", { retry: "new_quote" })),
  });
  await result.slip.quote();
  await result.slip.sign();
  assert.deepEqual([stageOf(result.slip).name, asked, signed.length], ["quoted", 3, 1]);
});

Deno.test("BetSlip: a bet from before a reload is shown with its outcome, and its box is cleared", async () => {
  const { slip, user, said, pending } = scene();
  const { bets } = user.value?.portfolio ?? assert.fail();
  const { lowerPrice, upperPrice } = slip.draft ?? assert.fail();
  const offer = offerOf(8, { lowerPrice, upperPrice });
  pending.add({ offer, signature: SIGNATURE });
  bets.start();
  bets.confirm(thesisOf(8));
  await settle();
  assert.deepEqual(stageOf(slip), { name: "placed", thesisId: 8, offer });
  assert.equal(slip.draft, undefined);
  assert.match(
    said.join(),
    /^\(No answer yet\. Your bet was placed once or not at all; [^.]+\. Nothing to do\.\)$/,
  );
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
  await settle();
  assert.deepEqual([stageOf(slip), slip.draft], [{ name: "draft" }, undefined]);
});

Deno.test("BetSlip: a bet that expired while the page was closed is reported as not placed", async () => {
  const { slip, user, said, clock, chain } = scene({
    execute: () => Promise.reject(new NetworkError("SERVICE_UNREACHABLE", "gone")),
  });
  chain.isKnown = true;
  const { bets } = user.value?.portfolio ?? assert.fail();
  void bets.send({ offer: offerOf(8, { deadline: clock.now() + 1_000 }), signature: SIGNATURE });
  await settle();
  assert.match(
    said.join(),
    /^\(No answer yet\. Your bet was placed once or not at all; [^.]+\. Nothing to do\.\)$/,
  );
  for (let second = 0; second < 12; second++) {
    clock.advance(1_000);
    await settle();
  }
  const stage = stageOf(slip);
  assert(stage.name === "draft");
  assert.match(
    stage.failure ?? "",
    /^No bet was placed on the box from [\d:]+, nothing was taken\. No answer came in time\.$/,
  );
  assert.equal(said.length, 1);
});

Deno.test("BetSlip: a bet that was refused after a reload is shown and spoken as not placed", async () => {
  const details = { usedUp: true };
  const refused = new ExecutionError("PRICE_MOVED", "It moved", { details, retry: "new_quote" });
  const { slip, user, said, pending } = scene({ execute: () => Promise.reject(refused) });
  const { bets } = user.value?.portfolio ?? assert.fail();
  pending.add({ offer: offerOf(8), signature: SIGNATURE });
  bets.start();
  await settle();
  const stage = stageOf(slip);
  assert(stage.name === "draft" && stage.isSigned);
  assert.match(
    stage.failure ?? "",
    /^No bet was placed on the box from [\d:]+, nothing was taken\. The odds changed, and the maker no longer accepts this bet\. Get a new quote\.$/,
  );
  assert.equal(said.at(-1), `(${stage.failure})`);
});

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
  await settle();
  assert.deepEqual(said, [
    "(Your box pays 16.80 USDC (× 1.68), chance 56.0 %, break-even 59.5 %.)",
  ]);
  assert.equal(said[0], `(${slip.terms})`);
});

Deno.test("BetSlip: while the market has a problem no payout is announced, since the chart announces the problem", () => {
  const { slip, said, clock, obstacle } = scene();
  obstacle.now = { button: "Waiting for live prices", text: "" };
  slip.estimator.state.value = { failure: new NetworkError("SERVICE_UNREACHABLE", ""), bet: BET };
  clock.advance(1_000);
  assert.deepEqual(said, []);
});

Deno.test("BetSlip: a wrong field is announced instead of a payout once the box is still, unless it is an empty price", () => {
  const { slip, clock, said, obstacle } = scene();
  obstacle.now = { button: "", text: "You bet: too much.", field: "amount" };
  for (const amount of ["5", "50", "5000"]) {
    slip.edit({ amount });
    clock.advance(900);
  }
  assert.deepEqual(said, [], "it is still being typed");
  clock.advance(5_000);
  assert.deepEqual(said, ["(You bet: too much.)"], "once");
  slip.edit({ lower: "2980", upper: "3020" });
  clock.advance(1_000);
  assert.equal(said.length, 2, "also if another field has changed, as by a suggested box");
  obstacle.now = { button: "", text: "Stays above: Enter a price.", field: "lower" };
  slip.edit({ lower: "" });
  clock.advance(5_000);
  assert.equal(said.length, 2, "the user has not filled it in yet");
  obstacle.now = { button: "", text: "You bet: Enter an amount.", field: "amount" };
  slip.edit({ lower: "2980", amount: "" });
  clock.advance(1_000);
  assert.equal(said.at(-1), "(You bet: Enter an amount.)", "it is asked for, also by Enter");
});

Deno.test("BetSlip: a box that the price has left is announced with the key that moves it, once that is known", () => {
  const { slip, clock, said, obstacle } = scene();
  const button = "Move the box to the price";
  obstacle.now = { button, text: "The price is outside.", action: "move" };
  slip.edit({ amount: "20" });
  clock.advance(1_000);
  assert.deepEqual(said, [], "the obstacle may be of the box before");
  const bet = { ...BET, betAmount: 20_000_000n };
  slip.estimator.state.value = { failure: new Error("outside"), bet };
  clock.advance(1_000);
  assert.deepEqual(said, [
    "(The price is outside. Press “Move the box to the price”, or M on the chart.)",
  ]);
});

Deno.test("BetSlip: a box is estimated every second, while it is valid and not quoted", async () => {
  const asked: Bet[] = [];
  const { slip, clock } = scene({}, (bet) => (asked.push(bet), Promise.resolve(ESTIMATE)));
  await settle();
  clock.advance(1_000);
  await settle();
  assert.deepEqual(asked.map(({ startTime }) => startTime), [1_008_000, 1_009_000]);
  assert.deepEqual(slip.estimator.state.value, { estimate: ESTIMATE, bet: asked[1] });
  await slip.quote();
  const stage = stageOf(slip);
  assert(stage.name === "quoted");
  assert.deepEqual(stage.before, { payout: ESTIMATE.payout, isQuote: false });
  clock.advance(10_000);
  assert.equal(asked.length, 2);
  slip.back();
  await settle();
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
    const stage = stageOf(slip);
    assert(stage.name === "quoted");
    assert.deepEqual([stage.offer.probability, stage.before], [0.471, undefined]);
    const terms = "pays 12.00 USDC (× 1.20), chance 47.1 %, break-even 83.3 %";
    assert.equal(slip.terms, `The quote ${terms}. Sign within 8 s.`);
    assert.deepEqual(said, ["(Quote: sign within 8 s. It pays 12.00 USDC.)"]);
  }
});

Deno.test("BetSlip: if a wallet reports another chain while signing, the account shows that chain", async () => {
  const prompt = Promise.withResolvers<typeof SIGNATURE>();
  const { slip, user } = scene({ sign: () => prompt.promise });
  await slip.quote();
  const placed = slip.sign();
  assert.equal(stageOf(slip).name, "signing");
  prompt.reject(new WalletError("WRONG_CHAIN", "on chain 5", { details: { actual: 5 } }));
  await placed;
  const stage = stageOf(slip);
  assert(stage.name === "draft");
  assert.match(
    stage.failure ?? "",
    / The wallet is on another chain\. Switch it, and get a new quote\.$/,
  );
  assert.equal(user.value?.walletChainId.value, 5);
});

Deno.test("BetSlip: a bet that the chain lacks after its deadline was not placed", async () => {
  const lost = new NetworkError("SERVICE_TIMEOUT", "late");
  const { slip, clock, chain } = scene({ execute: () => Promise.reject(lost) });
  chain.isKnown = true;
  await slip.quote();
  const placed = slip.sign();
  for (let seconds = 0; seconds < 40; seconds++) {
    await settle();
    clock.advance(1_000);
  }
  await placed;
  const stage = stageOf(slip);
  assert(stage.name === "draft");
  assert.match(stage.failure ?? "", /^No bet was placed on the box from /);
  assert.notEqual(slip.draft, undefined, "the box stays");
});

Deno.test("BetSlip: without an account nothing is quoted", async () => {
  const { slip, user, untouched } = scene();
  const empty = { lower: "", upper: "", startsIn: "20 s", lasts: "1 min", amount: "10" };
  assert.deepEqual(untouched, empty);
  user.value = undefined;
  await slip.quote();
  assert.deepEqual(slip.stage.value, { name: "draft" });
});

Deno.test("BetSlip: a quote that has expired is not signed", async () => {
  let signed = 0;
  const { slip, clock } = scene({
    sign() {
      signed += 1;
      return Promise.resolve(SIGNATURE);
    },
  });
  slip.edit({ startsIn: "60" });
  await slip.quote();
  clock.jump(QUOTE_LIFE_MS - 5_000);
  await slip.sign();
  assert.equal(signed, 0);
  assert.equal(stageOf(slip).name, "quoted");
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
  assert.deepEqual(pending.of(USER), []);
  assert.equal(said.at(-1), TOO_LATE);
});

Deno.test("BetSlip: a refusal is explained, and the box stays", async () => {
  const { slip, pending, said } = scene({
    execute: () => Promise.reject(new ExecutionError("INSUFFICIENT_BALANCE", "no")),
  });
  await slip.quote();
  await slip.sign();
  assert.match(
    said.at(-1) ?? "",
    /^\(No bet was placed on the box from \d\d:\d\d:\d\d, nothing was taken\. Your balance is too small/,
  );
  const stage = stageOf(slip);
  assert(stage.name === "draft");
  assert.match(stage.failure ?? "", /balance is too small/);
  assert.notEqual(slip.draft, undefined);
  assert.deepEqual(pending.of(USER), []);
});

Deno.test("BetSlip: while the outcome of a signed bet is unknown, nothing is changed, quoted or signed", async () => {
  let quoted = 0;
  const { slip, pending, clock } = scene({
    quote: (bet) => (quoted += 1, Promise.resolve(quoteOf(bet))),
    execute: () => Promise.reject(new NetworkError("SERVICE_TIMEOUT", "late")),
  });
  await slip.quote();
  void slip.sign();
  await settle();
  assert.deepEqual(pending.of(USER).map(({ signature }) => signature), [SIGNATURE]);
  const { stage, fields, symbol } = slip;
  const before = [stage.value, fields.value, symbol.value];
  slip.edit({ upper: "3020" });
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

Deno.test("BetSlip: a change of account drops the quote, the estimate and a pending signature", async () => {
  for (const step of ["quoted", "signing"] as const) {
    const prompt = Promise.withResolvers<typeof SIGNATURE>();
    let sent = 0;
    const { slip, user, userOf } = scene({
      sign: () => prompt.promise,
      execute: () => (sent += 1, Promise.resolve({ thesisId: 1, txHash: hashOf(1) })),
    });
    slip.estimator.state.value = { failure: "old", bet: BET };
    await slip.quote();
    const placed = step === "signing" ? slip.sign() : undefined;
    user.value = userOf(OTHER);
    prompt.resolve(SIGNATURE);
    await placed;
    assert.deepEqual([slip.stage.value, sent], [{ name: "draft" }, 0], step);
    assert.equal(slip.estimator.state.value, undefined);
    assert.notEqual(slip.draft, undefined, "the box stays");
  }
});

Deno.test("changesOf: a quote within 1 % of the estimate shows no change; 5 % below it is a warning", () => {
  const changes = (payout: bigint) => {
    const before = { payout: 20_000_000n, isQuote: false };
    const stage: QuotedStage = {
      name: "quoted",
      offer: offerOf(1, { payout }),
      before,
    };
    return [isWorse(stage), changesOf(stage)];
  };
  assert.deepEqual(changes(19_850_000n), [false, ""]);
  const than = "than the estimate of 20.00 USDC";
  assert.deepEqual(changes(19_400_000n), [false, `It pays 3 % less ${than}.`]);
  assert.deepEqual(changes(22_000_000n), [false, `It pays 10 % more ${than}.`]);
  assert.deepEqual(changes(14_000_000n), [true, `It pays 30 % less ${than}.`]);
});

Deno.test("BetSlip: a quote that replaces an expired one announces payout and start of its window", async () => {
  const { slip, clock, said } = scene();
  await slip.quote();
  clock.advance(20_000);
  assert.deepEqual(said.slice(1), [TOO_LATE]);
  await slip.quote();
  const stage = stageOf(slip);
  assert(stage.name === "quoted");
  assert.equal(stage.offer.quote.startTime, clock.now() + 8_000);
  assert.match(said.at(-1) ?? "", /^\(Quote: sign within 8 s\. It pays [\d.]+ USDC\.\)$/);
});

Deno.test("BetSlip: the last 10 s to sign are announced, counted to the start of the window if that is earlier", async () => {
  for (
    const [startsIn, seconds, warnedAfterMs] of [
      ["1 min", 25, 15_000],
      ["20 s", 20, 10_000],
    ] as const
  ) {
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

Deno.test("BetSlip: the terms of an expired quote end with its expiry", async () => {
  const { slip, clock } = scene();
  await slip.quote();
  assert.match(slip.terms, /^The quote pays 12\.00 USDC /);
  clock.jump(QUOTE_LIFE_MS - 5_000); // signed before that at the latest
  assert.match(slip.terms, /(The quote has expired|Too late: .*)\. Nothing was placed or taken\.$/);
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
  const { slip, clock, said } = scene();
  await slip.quote();
  slip.estimator.isPaused = true; // as the trade view does when it is left
  clock.advance(60_000);
  assert.equal(said.length, 1, "not that it expired");
  slip.estimator.isPaused = false;
  slip.back();
  assert.equal(said.length, 2);
});

Deno.test("BetSlip: each market keeps its box across a reload, for an hour", () => {
  const { slip, open, clock } = scene();
  const { draft } = slip;
  slip.choose("BTC/USDT");
  assert.equal(slip.draft, undefined);
  slip.edit({ lower: "1", upper: "2", amount: "33" });
  slip.choose("ETH/USDT");
  assert.deepEqual([slip.draft, slip.fields.value.amount], [draft, "33"]);
  assert.deepEqual(open().draft, draft);
  clock.advance(3_600_000);
  assert.equal(open().draft, undefined);
});

Deno.test("BetSlip: a change of account or a dropped quote does not store this tab's box over that of another tab", async () => {
  const { slip, open, user, userOf } = scene();
  const idle = open();
  await idle.quote();
  slip.edit({ lower: "1", upper: "9000", amount: "100" });
  idle.back();
  assert.deepEqual(open().fields.value, slip.fields.value);
  user.value = userOf(OTHER);
  assert.deepEqual(open().fields.value, slip.fields.value);
});

Deno.test("BetSlip: after a rejected signature nothing is stored or sent", async () => {
  const { slip, pending } = scene({
    sign: () => Promise.reject(new WalletError("USER_REJECTED", "no")),
  });
  await slip.quote();
  await slip.sign();
  const stage = stageOf(slip);
  assert(stage.name === "draft");
  assert.match(stage.failure ?? "", /You rejected the request/);
  assert.deepEqual(pending.of(USER), []);
});

Deno.test("BetSlip: without a complete box no quote is requested, and without a quote no bet is placed", async () => {
  const { slip } = scene({ quote: () => assert.fail("Nothing is quoted") });
  slip.edit({ lower: "2990", upper: "3010", startsIn: "8", lasts: "15", amount: "" });
  const { name } = stageOf(slip);
  await slip.quote();
  await slip.sign();
  assert.equal(stageOf(slip).name, name);
});

Deno.test("BetSlip: choosing the same market, or entering a wrong amount, keeps the box", () => {
  const { slip } = scene();
  const draft = slip.draft;
  slip.estimator.state.value = { failure: "shown", bet: BET };
  slip.choose("ETH/USDT");
  assert.deepEqual(slip.estimator.state.value, { failure: "shown", bet: BET });
  slip.edit({ amount: "abc" });
  assert.deepEqual(slip.draft, draft);
});

Deno.test("BetSlip: a new quote is locked for a moment, and the box that the user returns to is not", async () => {
  const { slip } = moving(0, [12_000_000n]);
  await slip.quote();
  assert.equal(slip.lock.isLocked.value, true);
  slip.back();
  assert.equal(slip.lock.isLocked.value, false);
});
