/** A bet on its way through the slip, with a client that the test answers for. */
import assert from "node:assert/strict";
import { signal } from "@preact/signals";
import {
  type Bet,
  type Estimate,
  ExecutionError,
  NetworkError,
  type Offer,
  type RangemakerClient,
  WalletError,
} from "../../lib/client/mod.ts";
import { Estimator } from "../../services/console/page/data/estimator.ts";
import { PendingBets } from "../../services/console/page/data/pending_bets.ts";
import type { User } from "../../services/console/page/data/session.ts";
import { BetSlip, type Stage } from "../../services/console/page/trade/bet_slip.ts";
import { QUOTE_LIFE_MS } from "../../services/console/page/trade/draft.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { memoryStore } from "./memory_store.ts";

const SIGNATURE = `0x${"1a".repeat(64)}1b` as const;
const USER = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";
const SOLVER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const HASH = `0x${"ab".repeat(32)}` as const;

type Client = Pick<RangemakerClient, "quote" | "sign" | "execute">;

function offerOf({ symbol: _, deadline = 0, ...terms }: Bet): Offer {
  const pair = { base: SOLVER, quote: SOLVER, thesisType: "box" } as const;
  const parties = { solver: SOLVER, user: USER } as const;
  const quote = { ...terms, ...pair, ...parties, payout: 12_000_000n, deadline };
  return { quote: { ...quote, signature: SIGNATURE }, quoteHash: HASH };
}

function scene(client: Partial<Client> = {}) {
  const clock = new FakeClock(1_000_000);
  const pending = new PendingBets(memoryStore());
  const said: string[] = [];
  const answers: Client = {
    quote: (bet) => Promise.resolve(offerOf(bet)),
    sign: () => Promise.resolve(SIGNATURE),
    execute: () => Promise.resolve({ thesisId: 7, txHash: HASH }),
    ...client,
  };
  const portfolio = { refresh: () => Promise.resolve() };
  // The slip uses these parts of a user alone.
  const user = { address: USER, client: answers, portfolio } as unknown as User;
  const slip = new BetSlip("ETH/USDT", {
    session: { user: signal(user), pending },
    estimate: new Estimator({ estimate: () => new Promise<Estimate>(() => {}), clock }),
    serverClock: clock,
    clock,
    announce: (text) => said.push(text),
  });
  slip.edit({ lower: "2990", upper: "3010", startsIn: "3", lasts: "15", amount: "10" });
  return { clock, pending, said, slip };
}

/** The stage now, whatever an earlier assertion said of it. */
const stageOf = (slip: BetSlip): Stage => slip.stage.value;

Deno.test("BetSlip: quote, sign, send, placed; the box is free for the next one", async () => {
  const { slip, pending, said } = scene();
  await slip.quote();
  assert.equal(stageOf(slip).name, "quoted");
  await slip.place();
  const stage = stageOf(slip);
  assert(stage.name === "placed");
  assert.equal(stage.thesisId, 7);
  assert.equal(slip.draft, undefined);
  assert.equal(slip.fields.value.amount, "10", "the amount stays");
  assert.equal(pending.of(USER).length, 1, "until the chain shows it");
  assert.deepEqual(said, ["Bet 7 is placed."]);
});

Deno.test("BetSlip: a quote of an earlier box is dropped", async () => {
  const answers = [offerOf, () => Promise.reject(new Error("too late to matter"))];
  for (const answer of answers) {
    const late = Promise.withResolvers<void>();
    const { slip } = scene({ quote: (bet) => late.promise.then(() => answer(bet)) });
    const quoted = slip.quote();
    slip.edit({ upper: "3020" });
    late.resolve();
    await quoted;
    assert.deepEqual(slip.stage.value, { name: "draft" });
  }
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
  await slip.place();
  assert.equal(signed, 0);
  assert.equal(stageOf(slip).name, "quoted");
});

Deno.test("BetSlip: a prompt that was open for too long sends nothing", async () => {
  let sent = 0;
  const { slip, clock, pending } = scene({
    sign() {
      clock.jump(QUOTE_LIFE_MS);
      return Promise.resolve(SIGNATURE);
    },
    execute() {
      sent += 1;
      return Promise.resolve({ thesisId: 1, txHash: HASH });
    },
  });
  await slip.quote();
  await slip.place();
  assert.equal(sent, 0);
  assert.deepEqual(pending.of(USER), []);
});

Deno.test("BetSlip: a refusal is explained, and the box is still there", async () => {
  const { slip, pending } = scene({
    execute: () => Promise.reject(new ExecutionError("INSUFFICIENT_BALANCE", "no")),
  });
  await slip.quote();
  await slip.place();
  const stage = stageOf(slip);
  assert(stage.name === "draft");
  assert.equal(stage.failure?.code, "INSUFFICIENT_BALANCE");
  assert.match(stage.failure?.text ?? "", /balance is too small/);
  assert.notEqual(slip.draft, undefined);
  assert.deepEqual(pending.of(USER), []);
});

Deno.test("BetSlip: a bet whose answer was lost is kept, to be sent again", async () => {
  const { slip, pending } = scene({
    execute: () => Promise.reject(new NetworkError("SERVICE_TIMEOUT", "late")),
  });
  await slip.quote();
  await slip.place();
  assert.deepEqual(pending.of(USER).map(({ signature }) => signature), [SIGNATURE]);
});

Deno.test("BetSlip: a rejected signature leaves nothing behind", async () => {
  const { slip, pending, said } = scene({
    sign: () => Promise.reject(new WalletError("USER_REJECTED", "no")),
  });
  await slip.quote();
  await slip.place();
  assert.deepEqual(pending.of(USER), []);
  assert.match(said.join(), /You rejected the request/);
});

Deno.test("BetSlip: nothing is asked for with a field missing, nor placed without a quote", async () => {
  const { slip } = scene({ quote: () => assert.fail("Nothing is quoted") });
  slip.edit({ lower: "2990", upper: "3010", startsIn: "3", lasts: "15", amount: "" });
  const { name } = stageOf(slip);
  await slip.quote();
  await slip.place();
  assert.equal(stageOf(slip).name, name);
});

Deno.test("BetSlip: the same market again, or a wrong amount, keeps the box; another market clears it", () => {
  const { slip } = scene();
  const draft = slip.draft;
  slip.choose("ETH/USDT");
  slip.edit({ amount: "abc" });
  assert.deepEqual(slip.draft, draft);
  slip.choose("BTC/USDT");
  assert.equal(slip.draft, undefined);
});
