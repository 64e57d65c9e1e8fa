import assert from "node:assert/strict";
import { depositRequestSchema } from "../../lib/protocol/deposit.ts";
import { RangemakerError } from "../../lib/errors.ts";
import type { Intent, IntentOutcome } from "../../lib/intents/intent.ts";
import { SqliteDriver } from "../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../lib/intents/store.ts";
import type { Receipt, TransactionErrorCode } from "../../lib/protocol/receipt.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { TransactionBuilder } from "../../lib/intents/submission.ts";
import { Depositor, depositTermsOf, isDepositOnChain } from "../../services/bridge/depositor.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { COMMITTED } from "../support/intents.ts";
import { toWire } from "../../lib/protocol/scalars.ts";
import { CHAIN_ID, relayer, signedRequest, user } from "./support.ts";

/** A depositor on a store in memory; the test decides each deposit's outcome. */
async function withDepositor(
  test: (parts: {
    depositor: Depositor;
    clock: FakeClock;
    store: IntentStore;
    submitted: Intent[];
    end: (outcome: IntentOutcome) => void;
    refused: unknown[];
    /** What the look for the node's chain throws from then on. */
    failChain: (thrown: Error) => void;
    differ: (problem: RangemakerError) => void;
  }) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  await using store = new IntentStore(SqliteDriver.open(":memory:"), "test");
  const submitted: Intent[] = [];
  const refused: unknown[] = [];
  let outcome = COMMITTED;
  let chain = Promise.resolve();
  let clockProblem: RangemakerError | undefined;
  const depositor = new Depositor({
    intents: {
      store,
      async submit(intent: Intent) {
        submitted.push(intent);
        return (await store.finish(intent, outcome, clock.now())).intent;
      },
      requireChain: () => chain,
      get clockProblem() {
        return clockProblem;
      },
    },
    transactions: new TransactionBuilder(relayer, CHAIN_ID, clock),
    onRefused: ({ nonce }, reason) => refused.push([nonce, reason.code]),
    chainId: CHAIN_ID,
    clock,
  });
  const end = (finalOutcome: IntentOutcome) => outcome = finalOutcome;
  const failChain = (thrown: Error) => chain = Promise.reject(thrown);
  const differ = (problem: RangemakerError) => clockProblem = problem;
  await test({ depositor, clock, store, submitted, end, refused, failChain, differ });
}

function request(deadline: number, nonce = 1n) {
  return depositRequestSchema.parse(signedRequest({ deadline, nonce }));
}

for (const code of ["DEADLINE_PASSED", "PERMISSION_DENIED", "NODE_REFUSED"] as const) {
  Deno.test(`Depositor: a deposit that failed with ${code} is refused with code and reason`, () =>
    withDepositor(async ({ depositor, clock, end }) => {
      end({ state: "failed", receipt: null, failure: { code, message: "Reason of the test" } });
      const deposit = depositor.deposit(request(clock.now() + 1_000));
      await assert.rejects(deposit, { code, message: /failed: \w+: Reason of the test$/ });
    }));
}

Deno.test("Depositor: a deposit is accepted at its deadline, and refused a millisecond later", () =>
  withDepositor(async ({ depositor, clock, store, submitted, differ }) => {
    const [inTime, late] = [request(clock.now() + 1_000), request(clock.now() + 1_000, 2n)];
    clock.advance(1_000);
    const txHash = await depositor.deposit(inTime);
    assert.equal(submitted[0]?.transaction?.txHash, txHash);
    assert.equal(submitted[0]?.expiresAtMs, inTime.deadline, "nothing is sent afterwards");
    clock.advance(1);
    const code = { code: "DEADLINE_PASSED", message: / 1 ms ago/ };
    await assert.rejects(depositor.deposit(late), code);
    assert.deepEqual((await store.listBySubject(late.user, { limit: 9 })).length, 1);
    differ(new RangemakerError("CLOCKS_DIFFER", "The clock is wrong"));
    await assert.rejects(depositor.deposit(late), { code: "CLOCKS_DIFFER" });
  }));

Deno.test("Depositor: a used nonce is refused with its transaction, the state, and the reason of a failure", () =>
  withDepositor(async ({ depositor, clock, end, submitted }) => {
    end({ state: "failed", receipt: null, failure: { code: "CODE", message: "reason" } });
    const again = request(clock.now() + 1_000);
    await assert.rejects(depositor.deposit(again), { code: "TRANSACTION_FAILED" });
    const txHash = submitted[0]?.transaction?.txHash;
    const words = new RegExp(`${txHash}: deposit is failed \\(CODE: reason\\);`);
    await assert.rejects(depositor.deposit(again), { code: "NONCE_USED", message: words });
    assert.equal(submitted.length, 1);
    end(COMMITTED);
    const other = request(clock.now() + 1_000, 2n);
    await depositor.deposit(other);
    const noReason = { code: "NONCE_USED", message: /: deposit is committed; / };
    await assert.rejects(depositor.deposit(other), noReason);
  }));

Deno.test("Depositor: the recorded deposit has the terms that its user signed", () =>
  withDepositor(async ({ depositor, clock, submitted }) => {
    await depositor.deposit(request(clock.now() + 1_000));
    const intent = submitted[0] ?? assert.fail("It is submitted");
    const terms = depositTermsOf(intent, CHAIN_ID);
    const { signature: _, timestamp: __, from: ___, ...sent } = JSON.parse(
      intent.transaction!.text,
    );
    assert.deepEqual(toWire(terms), sent);
  }));

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
  ["subject", () => ({ subject: relayer.address })],
  ["deadline", ({ expiresAtMs }) => ({ expiresAtMs: expiresAtMs + 1 })],
];
for (const [what, change] of changes) {
  Deno.test(`Depositor: a recorded deposit whose ${what} has changed is refused`, () =>
    withDepositor(async ({ depositor, clock, submitted }) => {
      await depositor.deposit(request(clock.now() + 1_000));
      const intent = submitted[0] ?? assert.fail("It is submitted");
      assert.notDeepEqual({ ...intent, ...change(intent) }, intent);
      assert.throws(() => depositTermsOf({ ...intent, ...change(intent) }, CHAIN_ID));
    }));
}

Deno.test("Depositor: a request that was changed after its user signed it is refused, and records nothing", () =>
  withDepositor(async ({ depositor, clock, submitted }) => {
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
  }));

Deno.test("Depositor: two users may use the same nonce", () =>
  withDepositor(async ({ depositor, clock, submitted }) => {
    const deadline = clock.now() + 1_000;
    const other = new LocalSigner(`0x${"0b".repeat(32)}`);
    const ofOther = signedRequest({ deadline, user: other.address }, { signer: other });
    for (const each of [request(deadline), depositRequestSchema.parse(ofOther)]) {
      clock.advance(1);
      await depositor.deposit(each);
      const { subject, createdAtMs } = submitted.at(-1) ?? assert.fail("It is submitted");
      assert.deepEqual([subject, createdAtMs], [each.user, clock.now()]);
    }
  }));

Deno.test("Depositor: on another chain it records nothing, and reports the refusal", () =>
  withDepositor(async ({ depositor, clock, store, refused, failChain }) => {
    const good = request(clock.now() + 1_000, 7n);
    failChain(new RangemakerError("CHAIN_MISMATCH", "Another chain"));
    await assert.rejects(depositor.deposit(good), { code: "CHAIN_MISMATCH" });
    const mistake = new TypeError("test");
    failChain(mistake);
    await assert.rejects(depositor.deposit(good), mistake);
    assert.deepEqual(refused, [[7n, "CHAIN_MISMATCH"]]);
    assert.deepEqual(await store.listBySubject(good.user, { limit: 9 }), []);
  }));

Deno.test("isDepositOnChain: DEPOSIT_ALREADY_PROCESSED means on the chain, another refusal is an error", () =>
  withDepositor(async ({ depositor, clock, submitted }) => {
    await depositor.deposit(request(clock.now() + 1_000));
    const intent = submitted[0] ?? assert.fail("It is submitted");
    const isOnChain = (answer: Pick<Receipt, "status" | "error">) => {
      const receipt = { txHash: intent.transaction!.txHash, blockNumber: 1, ...answer };
      const node = { simulateTransactionText: () => Promise.resolve(receipt) };
      const transactions = new TransactionBuilder(relayer, CHAIN_ID, clock);
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
  }));
