import assert from "node:assert/strict";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { DAY_MS } from "../../../lib/time.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import { quoteOf, type RfqSubmit } from "../../../lib/protocol/transaction.ts";
import { actors, backfill, CHAIN_ID, deposit, ETH, rfqSubmit } from "../support/actors.ts";
import { MemoryChain, SOLVER_BALANCE } from "../support/chains.ts";
import { signTransaction } from "../../support/signing.ts";

const { user, solver, relayer, admin, stranger } = actors;

Deno.test("Ledger: a failed transaction is recorded only if its sender has the permission or a balance", () => {
  const test = new MemoryChain();
  const { now: timestamp, chain: { state: { ledger } } } = test;
  const recordedOf = (tx: Parameters<typeof ledger.recordsFailureOf>[0]) =>
    Object.entries({ user, solver, relayer, admin, stranger })
      .filter(([, { address: from }]) => ledger.recordsFailureOf({ ...tx, from }))
      .map(([name]) => name);
  const bet = rfqSubmit({ timestamp });
  assert.deepEqual(recordedOf(deposit({ timestamp })), ["relayer"]);
  assert.deepEqual(recordedOf(backfill({ timestamp, startTime: 0, prices: [1n] })), ["admin"]);
  assert.deepEqual(recordedOf(bet), ["solver"]);
  test.deposit();
  assert.deepEqual(recordedOf(bet), ["user", "solver"]);
});

Deno.test("Ledger: an admin may fill slots of a market up to the newest checkpoint", () => {
  const test = new MemoryChain();
  test.run(1);
  const { now: timestamp } = test;
  const codeOf = (fields: Partial<Parameters<typeof backfill>[0]>) =>
    test.chain.simulate(
      backfill({ timestamp, startTime: timestamp - 100, prices: [1n, 2n], ...fields }),
    ).error?.code;
  assert.equal(codeOf({}), undefined);
  assert.equal(codeOf({ startTime: timestamp }), "INVALID_TIME_RANGE");
  assert.equal(codeOf({ by: relayer }), "PERMISSION_DENIED");
  assert.equal(codeOf({ base: ETH.quote }), "UNSUPPORTED_PAIR");
});

Deno.test("Ledger: a thesis can be settled only once", () => {
  const test = MemoryChain.funded();
  const { now, chain: { state: { ledger } } } = test;
  test.bet();
  ledger.applyOutcome(1, { status: "won" }, now);
  assert.throws(() => ledger.applyOutcome(1, { status: "won" }, now), RangeError);
  assert.throws(() => ledger.applyOutcome(2, { status: "won" }, now), RangeError);
  assert.equal(ledger.account(user.address).balance, 5_070_000n);
});

Deno.test("Ledger: theses between two ids are those from the first to before the second", () => {
  const test = MemoryChain.funded();
  for (const betAmount of [1n, 2n, 3n, 4n]) test.bet({ betAmount, payout: 5n });
  const { ledger } = test.chain.state;
  const idsOf = (...span: Parameters<typeof ledger.thesesBetween>) =>
    ledger.thesesBetween(...span).map(({ id }) => id);
  assert.deepEqual(idsOf(2, 4), [2, 3]);
  assert.deepEqual(idsOf(2, 4, { solver: solver.address }, 1), [2]);
  assert.deepEqual(idsOf(2, 4, { user: stranger.address }), []);
});

Deno.test("Ledger: a thesis lasts at most 24 hours, needs a slot, and ends in the future", () => {
  const test = MemoryChain.funded();
  const { now: timestamp } = test;
  const windows: [fromMs: number, toMs: number, code?: string][] = [
    [0, DAY_MS],
    [0, DAY_MS + 1, "INVALID_TIME_RANGE"],
    [1, 1 + DAY_MS],
    [0, 1], // the slot at its start
    [1, 100, "INVALID_TIME_RANGE"],
    [1, 101],
    [-100, 0, "INVALID_TIME_RANGE"],
    [-100, 1],
  ];
  for (const [fromMs, toMs, code] of windows) {
    const window = { startTime: timestamp + fromMs, endTime: timestamp + toMs };
    const { error } = test.chain.simulate(rfqSubmit({ timestamp, ...window }));
    assert.equal(error?.code, code, `from ${fromMs} to ${toMs}`);
  }
});

// A solver that is asked to quote a bet to itself signs nothing that a stranger could use.

/** The same bet submitted by the stranger with these signatures. */
function taken(tx: RfqSubmit, solverSignature: Hex, userSignature: Hex): RfqSubmit {
  const { signature: _old, ...rest } = tx;
  const unsigned = { ...rest, from: stranger.address, solverSignature, userSignature };
  return signTransaction(unsigned, stranger, CHAIN_ID).tx;
}

Deno.test("Ledger: strangers cannot use a solver's quote to itself, whichever signatures they add", () => {
  const chain = new MemoryChain();
  chain.run(1);
  const funds = { user: stranger.address, amount: 900_000_000n };
  chain.chain.submit(deposit({ timestamp: chain.now, ...funds }));
  // The solver signs as the user of its own quote, at terms that a stranger would choose.
  const terms = { user: solver, betAmount: 900_000_000n, payout: 900_000_001n };
  const tx = rfqSubmit({ timestamp: chain.now, ...terms });
  const { solverSignature: leaked } = tx;
  assert.equal(leaked, tx.userSignature, "it is both sides' signature");
  const digest = hashQuote(quoteOf({ ...tx, from: stranger.address }), CHAIN_ID);
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
