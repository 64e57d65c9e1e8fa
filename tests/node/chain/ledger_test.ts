import assert from "node:assert/strict";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import { DAY_MS } from "../../../lib/time.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import { quoteOf, type RfqSubmit, signTransaction } from "../../../lib/protocol/transaction.ts";
import { type EvaluationContext, Ledger } from "../../../services/node/chain/ledger.ts";
import { Permissions } from "../../../services/node/chain/permissions.ts";
import type { VerifiedTransaction } from "../../../services/node/chain/embedded_signatures.ts";
import { actors, CHAIN_ID, deposit, ETH, hashOf, rfqSubmit } from "../support/actors.ts";
import { GENESIS, MemoryChain, memoryRecords, SOLVER_BALANCE } from "../support/chain_in_memory.ts";

const NOW = 1_700_000_000_000;
const context: EvaluationContext = {
  blockNumber: 1,
  nowMs: NOW,
  marketOf: ({ base, quote }) => SPEC_MARKETS.find(base, quote),
  isFresh: () => true,
  limits: { maxStartAheadMs: DAY_MS, minBetAmount: 0n },
  breachOf: () => undefined,
  newestSlotMs: NOW,
};
function newLedger(): Ledger {
  const balances = new Map([[actors.solver.address, 10_000n]]);
  return new Ledger(memoryRecords({ genesis: { ...GENESIS, balances } }), new Permissions(GENESIS));
}

/** Judges and applies a transaction, as the chain does. */
function execute(ledger: Ledger, verified: VerifiedTransaction): Receipt {
  const earlier = ledger.receipt(verified.txHash);
  if (earlier !== undefined) return earlier;
  const receipt = ledger.evaluate(verified, context);
  const { tx, quoteHash } = verified;
  if (receipt.status === "failed") ledger.record(receipt, NOW);
  else ledger.apply({ atMs: NOW, tx, receipt, quoteHash });
  return receipt;
}

function verifiedDeposit(number: number, user: Address, amount: bigint): VerifiedTransaction {
  const externalTxHash = hashOf(number);
  return {
    txHash: hashOf(1_000_000 + number),
    tx: {
      type: "Deposit",
      timestamp: NOW,
      from: actors.relayer.address,
      signature: "0x",
      user,
      amount,
      externalTxHash,
    },
  };
}

function verifiedRfq(
  number: number,
  parties: { user: Address; solver: Address },
  amounts: { betAmount: bigint; payout: bigint },
): VerifiedTransaction {
  return {
    txHash: hashOf(2_000_000 + number),
    quoteHash: hashOf(number),
    tx: {
      type: "RfqSubmit",
      timestamp: NOW,
      from: parties.solver,
      signature: "0x",
      user: parties.user,
      thesisType: "box",
      base: ETH.base,
      quote: ETH.quote,
      lowerPrice: 1n,
      upperPrice: 2n,
      ...amounts,
      startTime: NOW,
      endTime: NOW + 1_000,
      deadline: NOW,
      solverSignature: "0x",
      userSignature: "0x",
    },
  };
}

/** A backfill of two slots, the second of which is the newest. */
function verifiedBackfill(from: Address, change: { base?: Address } = {}): VerifiedTransaction {
  return {
    txHash: hashOf(3_000_000),
    tx: {
      type: "BackfillOracle",
      timestamp: NOW,
      from,
      signature: "0x",
      base: ETH.base,
      quote: ETH.quote,
      startTime: NOW - 100,
      prices: [1n, 2n],
      ...change,
    },
  };
}

Deno.test("Ledger: a failed transaction is recorded only if its sender has the permission or a balance", () => {
  const ledger = newLedger();
  const { user, solver, relayer, admin, stranger } = actors;
  const from = ({ tx }: VerifiedTransaction, { address }: { address: Address }) => ({
    ...tx,
    from: address,
  });
  const deposit = verifiedDeposit(1, user.address, 1n);
  const backfill = verifiedBackfill(admin.address);
  const parties = { user: user.address, solver: solver.address };
  const bet = verifiedRfq(1, parties, { betAmount: 1n, payout: 2n });
  const recordedOf = (verified: VerifiedTransaction) =>
    Object.entries({ user, solver, relayer, admin, stranger })
      .filter(([, signer]) => ledger.recordsFailureOf(from(verified, signer)))
      .map(([name]) => name);
  assert.deepEqual(recordedOf(deposit), ["relayer"]);
  assert.deepEqual(recordedOf(backfill), ["admin"]);
  assert.deepEqual(recordedOf(bet), ["solver"]);
  execute(ledger, deposit);
  assert.deepEqual(recordedOf(bet), ["user", "solver"]);
});

Deno.test("Ledger: an admin may fill slots of a market up to the newest checkpoint", () => {
  const ledger = newLedger();
  const { address } = actors.admin;
  const codeOf = (verified: VerifiedTransaction, newestSlotMs: number) =>
    ledger.evaluate(verified, { ...context, newestSlotMs }).error?.code;
  assert.equal(codeOf(verifiedBackfill(address), NOW), undefined);
  assert.equal(codeOf(verifiedBackfill(address), NOW - 1), "INVALID_TIME_RANGE");
  assert.equal(codeOf(verifiedBackfill(actors.relayer.address), NOW), "PERMISSION_DENIED");
  const elsewhere = verifiedBackfill(address, { base: address });
  assert.equal(codeOf(elsewhere, NOW), "UNSUPPORTED_PAIR");
});

Deno.test("Ledger: a thesis can be settled only once", () => {
  const ledger = newLedger();
  execute(ledger, verifiedDeposit(1, actors.user.address, 100n));
  const parties = { user: actors.user.address, solver: actors.solver.address };
  execute(ledger, verifiedRfq(1, parties, { betAmount: 100n, payout: 110n }));
  ledger.applyOutcome(1, { status: "won" }, NOW);
  assert.throws(() => ledger.applyOutcome(1, { status: "won" }, NOW), RangeError);
  assert.throws(() => ledger.applyOutcome(2, { status: "won" }, NOW), RangeError);
  assert.equal(ledger.account(actors.user.address).balance, 110n);
});

/** What a bet on this window gets. */
function codeOfWindow(startTime: number, endTime: number): string | undefined {
  const ledger = newLedger();
  execute(ledger, verifiedDeposit(1, actors.user.address, 100n));
  const parties = { user: actors.user.address, solver: actors.solver.address };
  const bet = verifiedRfq(1, parties, { betAmount: 1n, payout: 2n });
  assert.ok(bet.tx.type === "RfqSubmit");
  return execute(ledger, { ...bet, tx: { ...bet.tx, startTime, endTime } }).error?.code;
}

Deno.test("Ledger: a thesis lasts at most 24 hours, needs a slot, and ends in the future", () => {
  assert.equal(codeOfWindow(NOW, NOW + DAY_MS), undefined);
  assert.equal(codeOfWindow(NOW, NOW + DAY_MS + 1), "INVALID_TIME_RANGE");
  assert.equal(codeOfWindow(NOW + 1, NOW + 1 + DAY_MS), undefined);
  assert.equal(codeOfWindow(NOW, NOW + 1), undefined, "the slot at its start");
  assert.equal(codeOfWindow(NOW + 1, NOW + 100), "INVALID_TIME_RANGE");
  assert.equal(codeOfWindow(NOW + 1, NOW + 101), undefined);
  assert.equal(codeOfWindow(NOW - 100, NOW), "INVALID_TIME_RANGE");
  assert.equal(codeOfWindow(NOW - 100, NOW + 1), undefined);
});

// A solver that is asked to quote a bet to itself signs nothing that a stranger could use.

const { solver, stranger } = actors;

/** A chain on which the stranger has money. */
function chainWithStranger(): MemoryChain {
  const chain = new MemoryChain();
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

Deno.test("Ledger: strangers cannot use a solver's quote to itself, whichever signatures they add", () => {
  const chain = chainWithStranger();
  const tx = selfQuote(chain.now);
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
