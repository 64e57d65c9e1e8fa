/** A signed bet until its outcome is known, with a solver that the test answers for. */
import assert from "node:assert/strict";
import { ExecutionError, NetworkError, ServiceError } from "../../../../lib/client/mod.ts";
import {
  BetKeeper,
  type BetOutcome,
  DEADLINE_MARGIN_MS,
  EXPIRED,
} from "../../../../services/console/page/data/bet_keeper.ts";
import { PendingBets } from "../../../../services/console/page/data/pending_bets.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { hashOf, memoryStore, offerOf, OTHER, SIGNATURE, thesisOf, USER } from "../../support.ts";
import { nextTurn } from "../../../support/eventually.ts";

const LOST = new NetworkError("SERVICE_TIMEOUT", "no answer");
const REFUSED = new ServiceError("PRICE_MOVED", "moved", { status: 400 });
const DEADLINE = 30_000;

const bet = { offer: offerOf(7, { deadline: DEADLINE }), signature: SIGNATURE };

/** What a solver does with each request: an id, a failure now or later, or nothing at all. */
type Answer = number | Error | Promise<Error> | "hangs";

/** A browser with tabs: each has a keeper, and a solver that answers one request after the other. */
function scene(...answers: Answer[]) {
  const clock = new FakeClock(0);
  const serverClock = { isUnset: false, now: () => clock.now() };
  const store = memoryStore();
  const outcomes: string[] = [];
  const chain = { isKnown: true, read: async () => {} };
  const events = { areLate: false };
  let sent = 0;
  const tabs: EventTarget[] = [];
  const open = (user: typeof USER | typeof OTHER = USER) => {
    const tab = new EventTarget();
    tabs.push(tab);
    // A browser tells all other tabs.
    const setItem = (name: string, text: string) => {
      store.setItem(name, text);
      for (const other of events.areLate ? [] : tabs) {
        if (other !== tab) other.dispatchEvent(Object.assign(new Event("storage"), { key: name }));
      }
    };
    const keeper = new BetKeeper({
      client: {
        execute(offer, signature) {
          assert.deepEqual({ offer, signature }, bet);
          sent += 1;
          const answer = answers.shift() ?? "hangs";
          if (answer === "hangs") return new Promise(() => {});
          if (answer instanceof Error) return Promise.reject(answer);
          if (answer instanceof Promise) return answer.then((error) => Promise.reject(error));
          return Promise.resolve({ thesisId: answer, txHash: hashOf(1) });
        },
      },
      user,
      pending: new PendingBets({ ...store, setItem }, 1337, tab),
      clock,
      serverClock,
      async readTheses() {
        await chain.read();
        return chain.isKnown;
      },
    });
    keeper.resolved.subscribe((resolved) => {
      if (resolved === undefined) return;
      outcomes.push(`${resolved.bet.isChecking ? "checked: " : ""}${textOf(resolved.outcome)}`);
    });
    keeper.start();
    return keeper;
  };
  /** Time passes, and everything that falls due is answered. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 250) {
      clock.advance(Math.min(left, 250));
      await nextTurn();
    }
  };
  /** Another tab has written the same again. */
  const touch = () => {
    for (const tab of tabs) {
      tab.dispatchEvent(
        Object.assign(new Event("storage"), { key: "rangemaker.pending-bets.1337" }),
      );
    }
  };
  const stored = () => new PendingBets(store, 1337).readBets(USER).length;
  const others = { events, store, clock, serverClock };
  return { open, pass, outcomes, chain, stored, sent: () => sent, touch, ...others };
}

/** The same, after the bet was sent in the first tab. */
function sending(...answers: Answer[]) {
  const { open, ...rest } = scene(...answers);
  const keeper = open();
  return { open, ...rest, keeper, outcome: keeper.send(bet) };
}

function textOf(outcome: BetOutcome): string {
  if (outcome.name === "placed") return `placed ${outcome.thesisId}`;
  return outcome.reason === EXPIRED ? "expired" : "refused";
}

Deno.test("BetKeeper: a first request that is refused late was not placed either", async () => {
  const late = Promise.withResolvers<Error>();
  const { pass, sent, keeper, outcome } = sending(late.promise, 4);
  await pass(5_999);
  assert.equal(keeper.unresolved.value[0]?.isChecking, false);
  await pass(1);
  assert.equal(keeper.unresolved.value[0]?.isChecking, true, "it is overdue");
  await pass(1_000);
  late.resolve(REFUSED);
  assert.deepEqual(await outcome, { name: "refused", reason: REFUSED });
  await pass(60_000);
  assert.equal(sent(), 1);
});

Deno.test("BetKeeper: after a lost answer, a bet is sent again, with pauses of up to 4 s, until it is answered", async () => {
  const down = new ServiceError("X", "no", { status: 504 });
  const { sent, pass, outcomes, stored, keeper, outcome } = sending(
    ...Array(4).fill(LOST),
    down,
    5,
  );
  await nextTurn();
  assert.deepEqual(keeper.unresolved.value, [{ ...bet, isChecking: true }]);
  const seen: number[] = [];
  for (let half = 1; half <= 24; half++) {
    await pass(499);
    const before = sent();
    await pass(1);
    if (sent() > before) seen.push(half / 2);
  }
  assert.deepEqual([seen, sent()], [[0.5, 1.5, 3.5, 7.5, 11.5], 6]);
  assert.deepEqual(await outcome, { name: "placed", thesisId: 5 });
  assert.deepEqual([outcomes, stored()], [["checked: placed 5"], 0]);
  await pass(60_000);
  assert.equal(sent(), 6);
});

Deno.test("BetKeeper: after a lost answer, only a refusal that uses up the quote ends the bet early", async () => {
  const usedUp = new ServiceError("PRICE_MOVED", "no", { status: 400, details: { usedUp: true } });
  const { sent, pass, stored, outcome } = sending(LOST, REFUSED, usedUp, 4);
  await nextTurn();
  await pass(500);
  assert.deepEqual([sent(), stored()], [2, 1], "the first request may still arrive");
  await pass(1_000);
  assert.deepEqual(await outcome, { name: "refused", reason: usedUp });
  await pass(10_000);
  assert.deepEqual([sent(), stored()], [3, 0]);
});

Deno.test("BetKeeper: a refusal is ignored if an earlier request may have placed the bet, as the chain shows", async () => {
  const codes = ["INSUFFICIENT_BALANCE", "QUOTE_ALREADY_USED", "QUOTE_EXPIRED"];
  const refusals = codes.map((code) => new ExecutionError(code, "no"));
  const used = new ExecutionError("QUOTE_ALREADY_USED", "used", { retry: "same" });
  for (const answers of [[used], ...[REFUSED, ...refusals].map((later) => [LOST, later])]) {
    const { pass, outcomes, keeper } = sending(...answers, ...Array(20).fill(answers.at(-1)));
    await pass(5_000);
    assert.deepEqual(outcomes, []);
    keeper.confirm(thesisOf(8));
    assert.deepEqual(outcomes, [], "another bet");
    keeper.confirm(thesisOf(7));
    assert.deepEqual(outcomes, ["checked: placed 7"], String(answers.at(-1)));
  }
});

Deno.test("BetKeeper: a bet that the chain lacks 5 s after its deadline expires, once the chain can be read", async () => {
  const { pass, outcomes, chain, stored, sent, outcome } = sending(...Array(40).fill(LOST));
  await pass(DEADLINE + DEADLINE_MARGIN_MS - 1);
  assert.deepEqual(outcomes, []);
  chain.isKnown = false;
  await pass(20_000);
  assert.deepEqual([outcomes, stored()], [[], 1]);
  chain.isKnown = true;
  await pass(4_000);
  assert.deepEqual(await outcome, { name: "refused", reason: EXPIRED });
  assert.deepEqual([outcomes, stored()], [["checked: expired"], 0]);
  const before = sent();
  await pass(20_000);
  assert.equal(sent(), before);
});

Deno.test("BetKeeper: no bet expires by the device's clock, as long as the node's time is unknown", async () => {
  const { open, pass, outcomes, serverClock } = scene(...Array(20).fill(LOST));
  Object.assign(serverClock, { isUnset: true, now: () => DEADLINE + DEADLINE_MARGIN_MS });
  void open().send(bet);
  await pass(10_000);
  assert.deepEqual(outcomes, []);
  serverClock.isUnset = false;
  await pass(4_000);
  assert.deepEqual(outcomes, ["checked: expired"]);
});

Deno.test("BetKeeper: a read that fails while another tab learns the outcome is repeated, and nothing is sent", async () => {
  const { open, pass, outcomes, chain, sent } = scene(...Array(40).fill(LOST));
  const [here, there] = [open(), open()];
  const outcome = here.send(bet);
  await pass(DEADLINE + DEADLINE_MARGIN_MS - 1);
  const read = Promise.withResolvers<void>();
  let reads = 0;
  chain.read = () => {
    reads += 1;
    return read.promise;
  };
  chain.isKnown = false;
  await pass(5_000);
  assert.equal(reads, 2, "one of each tab");
  const before = sent();
  there.confirm(thesisOf(7)); // and so removes it from the store
  read.resolve();
  await pass(4_000);
  assert.deepEqual([outcomes, sent()], [["checked: placed 7"], before]);
  chain.isKnown = true;
  await pass(DEADLINE_MARGIN_MS);
  assert.equal(textOf(await outcome), "expired", "the chain of this tab lacks it");
  assert.deepEqual([outcomes, sent()], [["checked: placed 7"], before]);
});

Deno.test("BetKeeper: after a reload the bet is shown as unknown, and sent again after 8 s until it is answered", async () => {
  const { open, pass, outcomes, sent } = scene("hangs", LOST, 9);
  const first = open();
  void first.send(bet);
  first.close(); // the page goes away
  assert.deepEqual(first.unresolved.value, []);
  const second = open();
  assert.equal(second.unresolved.value[0]?.isChecking, true);
  await pass(7_999);
  assert.equal(sent(), 1);
  await pass(1);
  assert.equal(sent(), 2);
  await pass(2_000);
  assert.deepEqual(outcomes, ["checked: placed 9"]);
});

Deno.test("BetKeeper: each account has its own bets, and a closed keeper sends nothing", async () => {
  const { open, pass, sent, stored, keeper } = sending(LOST, 5);
  await nextTurn();
  keeper.close();
  const other = open(OTHER);
  await pass(60_000);
  assert.deepEqual([other.unresolved.value, sent(), stored()], [[], 1, 1]);
});

Deno.test("BetKeeper: another tab also shows the bet as unknown, until the chain has it", async () => {
  const { open, pass, outcomes, sent } = scene(3);
  const [here, there] = [open(), open()];
  const outcome = here.send(bet);
  assert.equal(there.unresolved.value.length, 1);
  await outcome;
  await pass(1_000);
  assert.equal(there.unresolved.value.length, 1, "until the chain shows it");
  there.confirm(thesisOf(7));
  assert.deepEqual(there.unresolved.value, []);
  assert.deepEqual(outcomes, ["placed 3", "placed 7"]);
  await pass(60_000);
  assert.equal(sent(), 1);
});

Deno.test("BetKeeper: a bet refused to one tab is dropped by the other: neither sent nor reported as expired", async () => {
  const { open, pass, outcomes, sent, chain } = scene(REFUSED, 4);
  const [here, there] = [open(), open()];
  chain.isKnown = false;
  assert.equal((await here.send(bet)).name, "refused");
  await pass(10_000);
  assert.equal(there.unresolved.value.length, 1, "the chain may have it");
  chain.isKnown = true;
  await pass(5_000);
  // The first tab may have replaced it by a bet with another payout.
  assert.deepEqual([outcomes, sent()], [["refused"], 1]);
  assert.deepEqual([there.unresolved.value, there.resolved.value], [[], undefined]);
});

Deno.test("BetKeeper: a bet refused to one tab is not sent by another one that has not heard of it, such as after sleep", async () => {
  const { open, pass, outcomes, events, sent, touch } = scene(REFUSED, 4);
  const [here, there] = [open(), open()];
  const outcome = here.send(bet);
  events.areLate = true;
  assert.equal((await outcome).name, "refused");
  await pass(8_000);
  touch();
  await pass(10_000);
  assert.deepEqual([outcomes, sent(), there.unresolved.value], [["refused"], 1, []]);
});

Deno.test("BetKeeper: if another tab sees a bet expire, it also ends in the tab that signed it", async () => {
  const { open, pass, outcomes } = scene("hangs", LOST, ...Array(40).fill(LOST));
  const [here] = [open(), open()];
  const outcome = here.send(bet);
  await pass(DEADLINE + 3 * DEADLINE_MARGIN_MS);
  assert.deepEqual([textOf(await outcome), outcomes], ["expired", ["checked: expired"]]);
  assert.deepEqual(here.unresolved.value, []);
});

Deno.test("BetKeeper: if the tab of a bet is gone, another tab sends the bet after 8 s", async () => {
  const { open, pass, outcomes, sent, touch } = scene("hangs", 6);
  const [here, there] = [open(), open()];
  void here.send(bet);
  here.close();
  touch();
  await pass(7_999);
  assert.equal(sent(), 1);
  await pass(1);
  assert.deepEqual([sent(), outcomes], [2, ["checked: placed 6"]]);
  assert.deepEqual(there.unresolved.value, []);
});

Deno.test("BetKeeper: while a request is unanswered, a refusal that another tab got does not end the bet", async () => {
  const { open, pass, outcomes, stored } = scene("hangs", REFUSED, REFUSED);
  const [here, there] = [open(), open()];
  void here.send(bet);
  await pass(9_000);
  assert.deepEqual([outcomes, stored()], [[], 1]);
  for (const tab of [here, there]) tab.confirm(thesisOf(7));
  assert.deepEqual(outcomes, ["checked: placed 7", "checked: placed 7"]);
});

Deno.test("BetKeeper: a bet that another tab has placed is not ended by a late failure of the first request", async () => {
  for (const answer of [REFUSED, LOST]) {
    const late = Promise.withResolvers<Error>();
    const { open, pass } = scene(late.promise, 7);
    const [here] = [open(), open()];
    const outcome = here.send(bet);
    await pass(8_000); // the other tab has sent it
    late.resolve(answer);
    await pass(1_000); // the chain shows it only now
    here.confirm(thesisOf(7));
    assert.deepEqual(await outcome, { name: "placed", thesisId: 7 }, answer.code);
  }
});

Deno.test("BetKeeper: a first request that is refused after another tab sent the bet leaves its outcome open", async () => {
  // A clock that was set changes no timer; a hidden tab may run its own late.
  for (const [setByMs, passedMs] of [[-3_600_000, 8_000], [8_000, 0]] as const) {
    const late = Promise.withResolvers<Error>();
    const { open, pass, outcomes, clock } = scene(late.promise, "hangs", REFUSED);
    const [here] = [open(), open()];
    const outcome = here.send(bet);
    clock.setBy(setByMs);
    await pass(passedMs);
    late.resolve(REFUSED);
    await pass(1_000);
    assert.deepEqual([outcomes, here.unresolved.value.length], [[], 1]);
    here.confirm(thesisOf(7));
    assert.deepEqual(await outcome, { name: "placed", thesisId: 7 });
  }
});

Deno.test("BetKeeper: a first request that is refused after another tab saw the bet on the chain does not end it", async () => {
  const late = Promise.withResolvers<Error>();
  const { open } = scene(late.promise);
  const [here, there] = [open(), open()];
  const outcome = here.send(bet);
  there.confirm(thesisOf(7));
  late.resolve(REFUSED);
  await nextTurn();
  here.confirm(thesisOf(7));
  assert.deepEqual(await outcome, { name: "placed", thesisId: 7 });
});
