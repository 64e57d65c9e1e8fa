import assert from "node:assert/strict";
import {
  type Account,
  type Hex,
  NetworkError,
  type Offer,
  RangemakerClient,
  RangemakerError,
  type Thesis,
  type ThesisWatch,
  WatchError,
} from "../../../../lib/client/mod.ts";
import { EXPIRED } from "../../../../services/console/page/data/bet_keeper.ts";
import { PendingBets } from "../../../../services/console/page/data/pending_bets.ts";
import { Portfolio } from "../../../../services/console/page/data/portfolio.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { hashOf, memoryStore, offerOf, SIGNATURE, thesisOf, USER } from "../../support.ts";
import { nextTurn } from "../../../support/eventually.ts";

const offer = offerOf(7);

/** A client whose chain is unreachable, except for the test's answers. */
class FakeClient extends RangemakerClient {
  executed: Offer[] = [];
  deposits: [amount: bigint, nonce: bigint | undefined][] = [];
  depositFailure: Error | undefined;
  /** How often the balance was read. */
  reads = 0;
  /** How often it was asked to follow the bets. */
  watched = 0;
  /** What a successful watch is closed by. */
  opened: Partial<ThesisWatch> | undefined;
  failure: Error | undefined;
  balance: Promise<bigint> | bigint = 7n;
  /** Whether balances cannot be read. */
  isAway = false;
  onState: ((state: "live" | "connecting") => void) | undefined;
  onThesis: ((thesis: Thesis) => void) | undefined;

  constructor() {
    const url = "http://127.0.0.1:1";
    const urls = { solver: url, bridge: url, proxy: url, proxyWs: url };
    super({ urls, chainId: 1337 });
  }

  override async account(): Promise<Account> {
    this.reads += 1;
    if (this.isAway) throw new Error("away");
    return { address: USER, balance: await this.balance, locked: 0n, permissions: [] };
  }

  override deposit(...deposit: [amount: bigint, nonce?: bigint]): Promise<Hex> {
    const [amount, nonce] = deposit;
    this.deposits.push([amount, nonce]);
    return this.depositFailure ? Promise.reject(this.depositFailure) : Promise.resolve(hashOf(2));
  }

  override watch(
    ...[handlers]: Parameters<RangemakerClient["watch"]>
  ): ReturnType<RangemakerClient["watch"]> {
    this.watched += 1;
    this.onThesis = (thesis) => handlers?.onThesis?.(thesis);
    this.onState = (state) => handlers?.onState?.(state);
    // The test gives it what it expects to be used.
    if (this.opened !== undefined) return Promise.resolve(this.opened as ThesisWatch);
    return Promise.reject(new WatchError("NOT_CONNECTED", "no"));
  }

  override execute(offer: Offer): ReturnType<RangemakerClient["execute"]> {
    this.executed.push(offer);
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.resolve({ thesisId: 1, txHash: hashOf(1) });
  }
}

function scene(failure?: Error) {
  const pending = new PendingBets(memoryStore(), 1337);
  pending.add({ offer, signature: SIGNATURE });
  const client = new FakeClient();
  client.failure = failure;
  const settled: number[] = [];
  const clock = new FakeClock();
  const portfolio = new Portfolio({
    client,
    user: USER,
    pending,
    clock,
    serverClock: clock,
  });
  portfolio.settled.subscribe((thesis) => thesis && settled.push(thesis.id));
  portfolio.start();
  return { pending, client, portfolio, settled, clock };
}

Deno.test("Portfolio: a bet past its deadline is sent again until the chain can be read, which has it or not", async () => {
  for (const expected of [{ name: "refused", reason: EXPIRED }, { name: "placed", thesisId: 7 }]) {
    const { client, pending, portfolio, clock } = scene(
      new NetworkError("SERVICE_TIMEOUT", "late"),
    );
    const theses: Thesis[] = [];
    let isReadable = false;
    client.opened = {
      state: "live",
      theses,
      async refresh() {
        await Promise.resolve();
        if (!isReadable) throw new Error("away");
        if (expected.name === "placed") theses.push(thesisOf(7)); // without a notification
      },
      close() {},
    };
    await nextTurn();
    for (const ms of [8_000, 500, 500, 1_000]) {
      clock.advance(ms);
      await nextTurn();
    }
    assert.deepEqual(pending.readBets(USER).map(({ offer }) => offer), [offer]);
    isReadable = true;
    clock.advance(2_000);
    await nextTurn();
    assert.deepEqual([client.executed, pending.readBets(USER)], [[offer, offer, offer], []]);
    assert.deepEqual(portfolio.bets.resolved.value?.outcome, expected);
  }
});

Deno.test("Portfolio: a reported bet is placed; outcomes are reported of bets that were seen open, not of past ones", async () => {
  const { client, portfolio, settled } = scene();
  await nextTurn();
  client.onThesis?.(thesisOf(7, { status: "open" }));
  const placed = { name: "placed", thesisId: 7 };
  assert.deepEqual(portfolio.bets.resolved.value?.outcome, placed, "its answer may be lost");
  for (const [id, status] of [[2, "lost"], [3, "won"]] as const) {
    client.onThesis?.(thesisOf(id, { status: "open" }));
    client.onThesis?.(thesisOf(id, { status }));
  }
  client.onThesis?.(thesisOf(1, { status: "won" }));
  assert.deepEqual(settled, [2, 3]);
  assert.deepEqual(portfolio.theses.value.map(({ id }) => id), [7, 3, 2, 1], "newest first");
  assert.match(portfolio.problem.value ?? "", /no/, "the watch has failed");
  portfolio.close();
  client.onThesis?.(thesisOf(4, { status: "open" }));
  assert.equal(portfolio.theses.value.length, 4, "after the end nothing changes");
});

Deno.test("Portfolio: follows the bets again after a failure, and reads the balance every 5 s until its end", async () => {
  const { client, portfolio, clock } = scene();
  let closed = 0;
  await nextTurn();
  assert.equal(portfolio.account.value?.balance, 7n);
  client.opened = { theses: [], close: () => closed += 1 };
  clock.advance(999);
  assert.equal(client.watched, 1);
  clock.advance(1);
  assert.equal(client.watched, 2);
  await nextTurn();
  const { reads } = client;
  clock.advance(3_999); // the first one was a second before
  assert.equal(client.reads, reads);
  clock.advance(1);
  assert.equal(client.reads, reads + 1);
  await nextTurn();
  client.onState?.("connecting");
  assert.deepEqual([portfolio.problem.value, client.reads], ["reconnecting", reads + 1]);
  client.onState?.("live");
  assert.deepEqual([portfolio.problem.value, client.reads], [undefined, reads + 2]);
  for (let id = 1; id < 500; id++) client.onThesis?.(thesisOf(id, { status: "needs_backfill" }));
  clock.advance(99);
  assert.equal(client.reads, reads + 2);
  clock.advance(1);
  assert.equal(client.reads, reads + 3, "bets change the balance, which is read once");
  client.onThesis?.(thesisOf(1, { status: "won" }));
  await nextTurn();
  clock.advance(100);
  assert.equal(client.reads, reads + 4, "the answer to an earlier read does not delay the next");
  client.isAway = true;
  portfolio.refresh();
  await nextTurn();
  assert.equal(portfolio.account.value?.balance, 7n, "the last one stays");
  portfolio.close();
  portfolio.refresh(); // a deposit has ended
  await nextTurn();
  assert.deepEqual([closed, clock.pending], [1, 0]);
});

Deno.test("Portfolio: bets that a restored chain does not have are gone, with a lost connection or without", async () => {
  const { client, portfolio, clock } = scene();
  client.opened = { theses: [thesisOf(1), thesisOf(2)], close() {} };
  await nextTurn();
  clock.advance(1_000);
  await nextTurn();
  for (const id of [1, 2, 3]) client.onThesis?.(thesisOf(id));
  client.onState?.("connecting");
  client.onState?.("live");
  assert.deepEqual(portfolio.theses.value.map(({ id }) => id), [2, 1]);
  Object.assign(client.opened, { theses: [thesisOf(1)] });
  await nextTurn();
  clock.advance(5_000);
  assert.deepEqual(portfolio.theses.value.map(({ id }) => id), [1]);
  portfolio.close();
});

Deno.test("Portfolio: a balance is shown although a bet that ended meanwhile has it read again", async () => {
  const { client, portfolio } = scene();
  await nextTurn();
  const slow = Promise.withResolvers<bigint>();
  client.balance = slow.promise;
  portfolio.refresh();
  client.balance = new Promise(() => {});
  portfolio.refresh();
  slow.resolve(8n);
  await nextTurn();
  assert.equal(portfolio.account.value?.balance, 8n);
  portfolio.close();
});

Deno.test("Portfolio: a balance that arrives after a newer one is ignored", async () => {
  const { client, portfolio } = scene();
  await nextTurn();
  const slow = Promise.withResolvers<bigint>();
  client.balance = slow.promise;
  portfolio.refresh();
  client.balance = 9n;
  portfolio.refresh();
  await nextTurn();
  slow.resolve(8n);
  await nextTurn();
  assert.equal(portfolio.account.value?.balance, 9n);
});

Deno.test("Portfolio: a watch that opens after the close is closed, and one that fails is not opened again", async () => {
  for (const opens of [true, false]) {
    const { client, portfolio, clock } = scene();
    let closed = 0;
    client.opened = opens ? { close: () => closed += 1 } : undefined;
    await nextTurn();
    clock.advance(1_000);
    portfolio.close();
    await nextTurn();
    const { watched } = client;
    clock.advance(60_000);
    await nextTurn();
    assert.deepEqual([closed, client.watched, clock.pending], [opens ? 1 : 0, watched, 0]);
    assert.deepEqual(client.executed, [], "no bet is sent");
  }
});

Deno.test("Portfolio: a deposit without an answer is repeated with its nonce, until its end is known", async () => {
  const { client, portfolio } = scene();
  const nonceOf = async (amount: bigint, failure?: Error, isFailure = failure !== undefined) => {
    client.depositFailure = failure;
    const { reads } = client;
    const deposit = portfolio.deposit(amount);
    if (isFailure) await assert.rejects(deposit, failure);
    else await deposit;
    assert(client.reads > reads, "the balance is read in any case");
    return client.deposits.at(-1)?.[1];
  };
  const lost = new NetworkError("SERVICE_TIMEOUT", "late");
  const used = (state: string) => new RangemakerError("NONCE_USED", "used", { details: { state } });
  const first = await nonceOf(5n, lost);
  assert.notEqual(await nonceOf(6n), first, "another amount is another deposit");
  const second = await nonceOf(5n, lost);
  assert.equal(second, first, "the other one does not make this one arrive twice");
  assert.equal(await nonceOf(5n, used("submitted")), second);
  assert.equal(await nonceOf(5n, used("committed"), false), second, "it has arrived");
  const third = await nonceOf(5n, lost);
  assert.notEqual(third, second);
  assert.equal(await nonceOf(5n, used("failed")), third);
  assert.notEqual(await nonceOf(5n), third);
});
