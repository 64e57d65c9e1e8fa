import assert from "node:assert/strict";
import { describeIssue } from "../../../lib/protocol/describe_input.ts";
import { toWire } from "../../../lib/json.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { LocalSigner, recoverSigner } from "../../../lib/protocol/signature.ts";
import {
  hashTransaction,
  quoteOf,
  signTransactionBy,
  transactionSchema,
  transactionToText,
} from "../../../lib/protocol/transaction.ts";

const signature = `0x${"11".repeat(65)}`;
const { admin, relayer, solver } = DEV_ACCOUNTS;
const base = "0x0000000000000000000000000000000000000002";
const quote = "0x0000000000000000000000000000000000000100";

const deposit = {
  type: "Deposit",
  timestamp: 1,
  from: relayer.address,
  user: solver.address,
  amount: "5",
  externalTxHash: `0x${"ab".repeat(32)}`,
  signature,
};
const rfqSubmit = {
  type: "RfqSubmit",
  timestamp: 1,
  from: solver.address,
  user: relayer.address,
  thesisType: "box",
  base,
  quote,
  lowerPrice: "1",
  upperPrice: "2",
  betAmount: "100",
  payout: "107",
  startTime: 1000,
  endTime: 2000,
  deadline: 3000,
  solverSignature: signature,
  userSignature: signature,
};
const backfill = {
  type: "BackfillOracle",
  timestamp: 1,
  from: admin.address,
  base,
  quote,
  startTime: 100,
  prices: ["1", "2"],
  signature,
};

Deno.test("transactionSchema: parse and toWire are inverse", () => {
  for (const wire of [deposit, { ...rfqSubmit, signature }, backfill]) {
    const tx = transactionSchema.parse(wire);
    assert.deepEqual(toWire(tx), wire);
    assert.deepEqual(JSON.parse(transactionToText(tx)), wire);
  }
});

const atTheEdge: readonly (readonly [string, object])[] = [
  ["a deposit of 1", { ...deposit, amount: "1" }],
  ["a payout equal to the bet", { ...rfqSubmit, signature, payout: "100" }],
  ["a backfill with the highest price", { ...backfill, prices: [`${2n ** 64n - 1n}`] }],
  ["a backfill at the limit", { ...backfill, prices: new Array(6_000).fill("1") }],
];

for (const [what, value] of atTheEdge) {
  Deno.test(`transactionSchema: ${what} is accepted`, () => {
    assert.equal(transactionSchema.safeParse(value).error, undefined);
  });
}

const outOfRange: readonly (readonly [string, object, RegExp])[] = [
  ["a deposit of 0", { ...deposit, amount: "0" }, /^amount: /],
  ["a bet of 0", { ...rfqSubmit, signature, betAmount: "0" }, /^betAmount: /],
  ["a payout below the bet", { ...rfqSubmit, signature, payout: "99" }, /^payout: /],
  ["another thesis type", { ...rfqSubmit, signature, thesisType: "call" }, /^thesisType: /],
  ["a backfill off the slots", { ...backfill, startTime: 150 }, /^startTime: /],
  ["a backfill of nothing", { ...backfill, prices: [] }, /^prices: /],
  ["a backfill with a price of 0", { ...backfill, prices: ["0"] }, /^prices\.0: .*above 0/],
  ["a backfill with no text", { ...backfill, prices: ["1", 2] }, /^prices\.1: /],
  ["a backfill with a leading 0", { ...backfill, prices: ["1", "02"] }, /^prices\.1: /],
  ["a backfill with more than digits", { ...backfill, prices: ["1x"] }, /^prices\.0: /],
  ["a backfill with a sign", { ...backfill, prices: ["-1"] }, /^prices\.0: /],
  ["a backfill above 64 bits", { ...backfill, prices: [`${2n ** 64n}`] }, /^prices\.0: /],
  [
    "a backfill over the limit",
    { ...backfill, prices: new Array(6_001).fill("1") },
    /^prices: .*6000/,
  ],
  ["an unknown type", { ...deposit, type: "Withdraw" }, /^type: .*Deposit, RfqSubmit/],
];

for (const [what, value, reason] of outOfRange) {
  Deno.test(`transactionSchema: ${what} is refused, naming the field`, () => {
    const parsed = transactionSchema.safeParse(value);
    assert(!parsed.success);
    assert.match(describeIssue(parsed.error), reason);
  });
}

Deno.test("quoteOf: the terms of an RfqSubmit are those of its quote, with the sender as the solver", () => {
  const tx = transactionSchema.parse({ ...rfqSubmit, signature });
  assert(tx.type === "RfqSubmit");
  const { type: _, timestamp: _1, from, solverSignature: _2, userSignature: _3, ...terms } =
    rfqSubmit;
  assert.deepEqual(toWire(quoteOf(tx)), { ...terms, solver: from });
});

Deno.test("signTransactionBy: signs the hash of the given fields, and changes no field", async () => {
  const { signature: _none, ...unsigned } = transactionSchema.parse(deposit);
  const signer = new LocalSigner(relayer.privateKey);
  const { tx, txHash } = await signTransactionBy(unsigned, signer, 1337);
  assert.equal(txHash, hashTransaction(unsigned, 1337));
  assert.equal(recoverSigner(txHash, tx.signature), relayer.address);
  assert.deepEqual(tx, { ...unsigned, signature: tx.signature });
});
