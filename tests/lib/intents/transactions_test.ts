import assert from "node:assert/strict";
import { TransactionBuilder, type TransactionTerms } from "../../../lib/intents/transactions.ts";
import {
  type Deposit,
  hashTransaction,
  type RfqSubmit,
  type Transaction,
  transactionToText,
} from "../../../lib/protocol/transaction.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { actors, CHAIN_ID, deposit, hashOf, rfqSubmit } from "../../node/support/actors.ts";

function stored(tx: Transaction) {
  return { txHash: hashTransaction(tx, CHAIN_ID), text: transactionToText(tx) };
}

function termsOf(tx: Deposit | RfqSubmit): TransactionTerms {
  const { timestamp: _, from: __, signature: ___, ...terms } = tx;
  return terms;
}

Deno.test("TransactionBuilder: a stored bet is signed by its own key, a deposit by the relayer that it names", () => {
  const { solver, relayer, user } = actors;
  const bet = rfqSubmit({ timestamp: 1 });
  const ofSolver = new TransactionBuilder(solver, CHAIN_ID, new FakeClock());
  ofSolver.requireOwn(termsOf(bet), stored(bet));
  const ofOther = rfqSubmit({ timestamp: 1, from: relayer });
  assert.throws(() => ofSolver.requireOwn(termsOf(ofOther), stored(ofOther)), TypeError);

  const fields = { timestamp: 1, user: user.address, amount: 5n, externalTxHash: hashOf(1) };
  const ofRelayer = deposit(fields);
  const ofNewKey = new TransactionBuilder(solver, CHAIN_ID, new FakeClock());
  ofNewKey.requireOwn(termsOf(ofRelayer), stored(ofRelayer));
  const { signature } = deposit({ ...fields, by: user });
  const forged = stored({ ...ofRelayer, signature });
  assert.throws(() => ofNewKey.requireOwn(termsOf(ofRelayer), forged), TypeError);
  const other = stored(deposit({ ...fields, amount: 6n }));
  assert.throws(() => ofNewKey.requireOwn(termsOf(ofRelayer), other), TypeError);
});
