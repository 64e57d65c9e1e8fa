import assert from "node:assert/strict";
import { depositRequestSchema } from "../../lib/protocol/deposit.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { StoreConnectionLostError } from "../../lib/intents/errors.ts";
import type { Intent } from "../../lib/intents/intent.ts";
import { SqliteDriver } from "../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../lib/intents/store.ts";
import type { Receipt, TransactionErrorCode } from "../../lib/protocol/receipt.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { TransactionBuilder } from "../../lib/intents/transactions.ts";
import { toWire } from "../../lib/json.ts";
import {
  Depositor,
  isDepositOnChain,
  requireDepositTerms,
} from "../../services/bridge/depositor.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { COMMITTED, onlyChain } from "../support/intents.ts";
import { rejectsWith } from "../support/scripted_node.ts";
import { CHAIN_ID, relayer, signedRequest, user } from "./support.ts";

/** A depositor on a store in memory; the test decides each deposit's outcome. */
class World {
  readonly clock = new FakeClock();
  readonly store: IntentStore = new IntentStore(SqliteDriver.open(":memory:"), "test");
  readonly submitted: Intent[] = [];
  readonly refused: unknown[] = [];
  outcome = COMMITTED;
  readonly guard = onlyChain(this.clock);
  readonly depositor = new Depositor({
    store: this.store,
    submitter: this,
    guard: this.guard,
    findNodeRefusal: () => Promise.resolve(undefined),
    transactions: new TransactionBuilder(relayer, CHAIN_ID, this.clock),
    onRefused: ({ nonce }, reason) => this.refused.push([nonce, reason.code]),
    chainId: CHAIN_ID,
    clock: this.clock,
  });

  /** Makes a deposit. @returns The intent that was submitted. */
  async deposited(): Promise<Intent> {
    await this.depositor.deposit(request(this.clock.now() + 1_000));
    return this.submitted.at(-1) ?? assert.fail("It is submitted");
  }

  async submitNew(intent: Intent): Promise<Intent> {
    this.submitted.push(intent);
    return (await this.store.finish(intent, this.outcome, this.clock.now())).intent;
  }
}

/** Declares a test with a depositor of its own. */
const test = (name: string, run: (world: World) => Promise<void>) =>
  Deno.test(`Depositor: ${name}`, async () => {
    const world = new World();
    await using _store = world.store;
    await run(world);
  });

function request(deadline: number, nonce = 1n) {
  return depositRequestSchema.parse(signedRequest({ deadline, nonce }));
}

for (const code of ["DEADLINE_PASSED", "NODE_REFUSED"] as const) {
  test(`a deposit that failed with ${code} is refused with code and reason`, async (world) => {
    const failure = { code, message: "Reason of the test" };
    world.outcome = { state: "failed", receipt: null, failure };
    const deposit = world.depositor.deposit(request(world.clock.now() + 1_000));
    await assert.rejects(deposit, { code, message: /failed: \w+: Reason of the test$/ });
  });
}

test("a deposit is accepted at its deadline, and refused a millisecond later", async (world) => {
  const { depositor, clock, store, submitted } = world;
  const [inTime, late] = [request(clock.now() + 1_000), request(clock.now() + 1_000, 2n)];
  clock.advance(1_000);
  const txHash = await depositor.deposit(inTime);
  assert.equal(submitted[0]?.transaction?.txHash, txHash);
  assert.equal(submitted[0]?.expiresAtMs, inTime.deadline, "nothing is sent afterwards");
  clock.advance(1);
  const code = { code: "DEADLINE_PASSED", message: / 1 ms ago/ };
  await assert.rejects(depositor.deposit(late), code);
  // A user who lost the answer must not sign another nonce: that would be a second credit.
  const words = /sign it again with the same nonce/;
  await assert.rejects(depositor.deposit(inTime), { code: "DEADLINE_PASSED", message: words });
  const again = request(clock.now() + 1_000);
  await assert.rejects(depositor.deposit(again), { code: "NONCE_USED" });
  assert.deepEqual((await store.listByUser(late.user, { limit: 9 })).intents.length, 1);
  world.guard.clocks.recordDifference("it is an hour ahead");
  await assert.rejects(depositor.deposit(late), { code: "CLOCKS_DIFFER" });
});

test("a used nonce is refused with its transaction, the state, and the reason of a failure", async (world) => {
  const { depositor, clock, submitted } = world;
  const failure = { code: "CODE", message: "reason" };
  world.outcome = { state: "failed", receipt: null, failure };
  const again = request(clock.now() + 1_000);
  await assert.rejects(depositor.deposit(again), { code: "TRANSACTION_FAILED" });
  const txHash = submitted[0]?.transaction?.txHash;
  const words = new RegExp(`${txHash}: deposit of 25 USDC is failed \\(CODE: reason\\);`);
  await assert.rejects(depositor.deposit(again), { code: "NONCE_USED", message: words });
  assert.equal(submitted.length, 1);
  world.outcome = COMMITTED;
  const other = request(clock.now() + 1_000, 2n);
  await depositor.deposit(other);
  const noReason = { code: "NONCE_USED", message: /: deposit of 25 USDC is committed; / };
  await assert.rejects(depositor.deposit(other), noReason);
});

test("the recorded deposit has the terms that its user signed", async (world) => {
  const intent = await world.deposited();
  const terms = requireDepositTerms(intent, CHAIN_ID);
  const { signature: _, timestamp: __, from: ___, ...sent } = JSON.parse(intent.transaction!.text);
  assert.deepEqual(toWire(terms), sent);
});

const changes: [string, (intent: Intent) => Partial<Intent>][] = [
  ["amount", ({ payload }) => ({ payload: payload.replace('"25000000"', '"90000000"') })],
  ["user", ({ payload }) => ({ payload: payload.replaceAll(user.address, relayer.address) })],
  ["nonce", ({ payload }) => ({ payload: payload.replace('"nonce":"1"', '"nonce":"2"') })],
  [
    "external hash",
    ({ payload }) => ({ payload: payload.replace(/[0-9a-f]{8}"}$/, '00000000"}') }),
  ],
  [
    "signature",
    ({ payload }) => ({ payload: payload.replace(/"signature":"0x\w\w/, '"signature":"0x00') }),
  ],
  ["key", ({ key }) => ({ key: `${key}0` })],
  ["column of the user", () => ({ user: relayer.address })],
  ["deadline", ({ expiresAtMs }) => ({ expiresAtMs: expiresAtMs + 1 })],
];
for (const [what, change] of changes) {
  test(`a recorded deposit whose ${what} has changed is refused`, async (world) => {
    const intent = await world.deposited();
    assert.notDeepEqual({ ...intent, ...change(intent) }, intent);
    assert.throws(() => requireDepositTerms({ ...intent, ...change(intent) }, CHAIN_ID));
  });
}

test("a request that was changed after its user signed it is refused, and records nothing", async ({ depositor, clock, submitted }) => {
  const good = request(clock.now() + 60_000);
  const { signature: _, ...unsigned } = good;
  const stranger = new LocalSigner(`0x${"22".repeat(32)}`);
  const signedBy = (...request: Parameters<typeof signedRequest>) =>
    depositRequestSchema.parse(signedRequest(...request));
  const forged = [
    [{ ...good, user: stranger.address }, "INVALID_SIGNATURE"],
    [{ ...good, amount: good.amount + 1n }, "INVALID_SIGNATURE"],
    [{ ...good, nonce: good.nonce + 1n }, "INVALID_SIGNATURE"],
    [{ ...good, deadline: good.deadline + 1 }, "INVALID_SIGNATURE"],
    [signedBy(unsigned, { signer: stranger }), "INVALID_SIGNATURE"],
    [signedBy(unsigned, { chainId: 1 }), "WRONG_CHAIN"],
  ] as const;
  for (const [one, code] of forged) await assert.rejects(depositor.deposit(one), { code });
  assert.equal(submitted.length, 0);
  await depositor.deposit(good); // its nonce is not used up
});

test("two users may use the same nonce", async ({ depositor, clock, submitted }) => {
  const deadline = clock.now() + 1_000;
  const other = new LocalSigner(`0x${"0b".repeat(32)}`);
  const ofOther = signedRequest({ deadline, user: other.address }, { signer: other });
  for (const each of [request(deadline), depositRequestSchema.parse(ofOther)]) {
    clock.advance(1);
    await depositor.deposit(each);
    const { user, createdAtMs } = submitted.at(-1) ?? assert.fail("It is submitted");
    assert.deepEqual([user, createdAtMs], [each.user, clock.now()]);
  }
});

test("on another chain it records nothing, and reports the refusal", async (world) => {
  const { depositor, clock, store, refused } = world;
  const good = request(clock.now() + 1_000, 7n);
  world.guard.requireChain = rejectsWith(new RangemakerError("CHAIN_MISMATCH", "Another chain"));
  await assert.rejects(depositor.deposit(good), { code: "CHAIN_MISMATCH" });
  const mistake = new TypeError("test");
  world.guard.requireChain = rejectsWith(mistake);
  await assert.rejects(depositor.deposit(good), mistake);
  world.guard.requireChain = () => Promise.resolve();
  store.insert = rejectsWith(new StoreConnectionLostError("test"));
  await assert.rejects(depositor.deposit(good), StoreConnectionLostError);
  assert.deepEqual(refused, [[7n, "CHAIN_MISMATCH"]], "a lost insert may be recorded");
  assert.deepEqual((await store.listByUser(good.user, { limit: 9 })).intents, []);
});

test("a recorded request is NONCE_USED with its state, even while new ones are refused", async (world) => {
  const { depositor, clock, refused } = world;
  const recorded = request(clock.now() + 1_000, 7n);
  await depositor.deposit(recorded);
  const unreachable = new RangemakerError("NODE_UNREACHABLE", "The node is away");
  world.guard.requireChain = rejectsWith(unreachable);
  await assert.rejects(depositor.deposit(recorded), {
    code: "NONCE_USED",
    message: /: deposit of 25 USDC is committed; /,
  });
  await assert.rejects(depositor.deposit(request(clock.now() + 1_000, 8n)), unreachable);
  assert.deepEqual(refused, [[7n, "NONCE_USED"], [8n, "NODE_UNREACHABLE"]]);
});

test("isDepositOnChain: DEPOSIT_ALREADY_PROCESSED means on the chain, another refusal is an error", async (world) => {
  const intent = await world.deposited();
  const isOnChain = (answer: Pick<Receipt, "status" | "error">) => {
    const receipt = { txHash: intent.transaction!.txHash, blockNumber: 1, ...answer };
    const node = { simulateTransactionText: () => Promise.resolve(receipt) };
    const transactions = new TransactionBuilder(relayer, CHAIN_ID, world.clock);
    return isDepositOnChain({ node, transactions }, intent, CHAIN_ID);
  };
  const refusedFor = (code: TransactionErrorCode) =>
    isOnChain({ status: "failed", error: { code, message: "not listed" } });
  assert.equal(await isOnChain({ status: "committed" }), false);
  assert.equal(await refusedFor("DEPOSIT_ALREADY_PROCESSED"), true);
  await assert.rejects(refusedFor("PERMISSION_DENIED"), {
    code: "PERMISSION_DENIED",
    message: /^Whether the chain has deposit \S+ is unknown: not listed$/,
  });
});
