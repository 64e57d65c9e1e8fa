/** A solver that is asked to quote a bet to itself signs nothing that a stranger could use. */
import assert from "node:assert/strict";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import type { Hex } from "../../lib/protocol/scalars.ts";
import { quoteTermsOf, type RfqSubmit, signTransaction } from "../../lib/protocol/transaction.ts";
import { actors, CHAIN_ID, deposit, hashOf, rfqSubmit } from "./support/actors.ts";
import { SOLVER_BALANCE, TestChain } from "./support/chain_in_memory.ts";

const { solver, stranger } = actors;

/** A chain on which the stranger has money. */
function chainWithStranger(): TestChain {
  const chain = new TestChain();
  chain.run(1);
  const funds = { user: stranger.address, amount: 900_000_000n, externalTxHash: hashOf(1) };
  chain.chain.submit(deposit({ timestamp: chain.now, ...funds }));
  return chain;
}

/** The bet that the solver signs as the user of its own quote, at terms a stranger would choose. */
function selfQuote(timestamp: number): RfqSubmit {
  return rfqSubmit({ timestamp, user: solver, betAmount: 900_000_000n, payout: 900_000_001n });
}

/** The same bet submitted by the stranger with these signatures. */
function taken(tx: RfqSubmit, solverSignature: Hex, userSignature: Hex): RfqSubmit {
  const { signature: _old, ...rest } = tx;
  const unsigned = { ...rest, from: stranger.address, solverSignature, userSignature };
  return signTransaction(unsigned, stranger, CHAIN_ID).tx;
}

Deno.test("Node: strangers cannot use a solver's quote to itself, whichever signatures they add", () => {
  const chain = chainWithStranger();
  const tx = selfQuote(chain.now);
  const { solverSignature: leaked } = tx;
  assert.equal(leaked, tx.userSignature, "it is both sides' signature");
  const digest = hashQuote(quoteTermsOf({ ...tx, from: stranger.address }), CHAIN_ID);
  const ofStranger = stranger.sign(digest);
  const attempts: [solverSignature: Hex, userSignature: Hex, code: string][] = [
    [leaked, leaked, "QUOTE_SIGNER_MISMATCH"],
    [leaked, ofStranger, "QUOTE_SIGNER_MISMATCH"],
    [ofStranger, leaked, "USER_SIGNATURE_INVALID"],
    [ofStranger, ofStranger, "USER_SIGNATURE_INVALID"],
  ];
  for (const [solverSignature, userSignature, code] of attempts) {
    const receipt = chain.chain.submit(taken(tx, solverSignature, userSignature));
    assert.deepEqual([receipt.status, receipt.error?.code], ["failed", code]);
    chain.run(1);
  }
  const { ledger } = chain.chain.state;
  assert.deepEqual(ledger.theses, []);
  assert.equal(ledger.account(solver.address).balance, SOLVER_BALANCE);
});
