import assert from "node:assert/strict";
import { SignatureError } from "../../../lib/protocol/signature.ts";
import type { Transaction } from "../../../lib/protocol/transaction.ts";
import { RejectedTransactionError } from "../../../services/node/chain/errors.ts";
import {
  actors,
  backfill,
  deposit,
  hashOf,
  type QuoteFields,
  rfqSubmit,
} from "../support/actors.ts";
import { MemoryChain, SOLVER_BALANCE } from "../support/chains.ts";

const { user, solver, stranger } = actors;

function balancesOf(test: MemoryChain) {
  const of = (address: typeof user.address) => {
    const { balance, locked } = test.chain.state.ledger.account(address);
    return [balance, locked];
  };
  return { user: of(user.address), solver: of(solver.address) };
}

function assertFails(test: MemoryChain, tx: Transaction, code: string): void {
  const before = balancesOf(test);
  const receipt = test.chain.submit(tx);
  assert.deepEqual([receipt.status, receipt.error?.code], ["failed", code]);
  assert.deepEqual(balancesOf(test), before);
  assert.deepEqual(test.chain.submit(tx), receipt, "sent again, the first receipt again");
}

Deno.test("Chain: a repeated transaction returns its first receipt, however late", () => {
  const test = new MemoryChain();
  const tx = deposit({ timestamp: test.now });
  const receipt = test.chain.submit(tx);
  test.holdUp(3_600_000);
  assert.deepEqual(test.chain.submit(tx), receipt);
  assert.equal(test.chain.state.ledger.account(user.address).balance, 5_000_000n);
  assert.equal(test.receipts.length, 1);
});

Deno.test("Chain: a failed transaction is recorded in a block", () => {
  const test = MemoryChain.funded();
  test.run(1);
  const receipt = test.bet({ betAmount: 6_000_000n, payout: 7_000_000n });
  assert.equal(receipt.error?.code, "INSUFFICIENT_BALANCE");
  assert.deepEqual(test.chain.findReceipt(receipt.txHash), receipt);
  assert.equal(test.receipts.at(-1), receipt);
  test.run(1);
  assert.deepEqual(test.chain.head.transactions, [receipt.txHash]);
});

Deno.test("Chain: a transaction whose receipt may be deleted is refused, though the clock is set back", () => {
  const test = MemoryChain.funded();
  const depositedAtMs = test.now;
  test.run(1);
  test.records.dropBefore(test.now);
  assert.equal(test.records.state.droppedBeforeMs, depositedAtMs + 1);
  test.travelClock.shift(test.records.state.droppedBeforeMs + 60_000 - test.now);
  const { now: timestamp } = test;
  assert.equal(test.deposit(2).status, "committed");
  const tx = deposit({ timestamp: timestamp - 1, externalTxHash: hashOf(3) });
  assert.throws(() => test.chain.submit(tx), {
    code: "TIMESTAMP_OUT_OF_RANGE",
    details: { timestamp: timestamp - 1, offMs: 1 },
  });
});

Deno.test("Chain: once a bet that was lost early is deleted, its quote is not used again, though the clock is set back", () => {
  const test = MemoryChain.funded();
  const endTime = test.now + 3_600_000;
  const quote = { startTime: test.now, endTime, deadline: endTime };
  test.bet(quote);
  test.run(1, { "ETH/USDT": 1n });
  assert.deepEqual(test.statuses, ["lost"]);
  test.records.dropBefore(endTime + 1);
  assert.deepEqual(test.statuses, []);
  test.travelClock.shift(600_000);
  assert.throws(() => test.bet(quote), { code: "TIMESTAMP_OUT_OF_RANGE" });
});

Deno.test("Chain: a transaction with an invalid signature is not recorded", () => {
  const test = new MemoryChain();
  const tx = deposit({ timestamp: test.now });
  const forged = { ...tx, amount: 6_000_000n };
  assert.throws(() => test.chain.submit(forged), SignatureError);
  assert.throws(() => test.chain.submit({ ...tx, signature: "0x00" }), /1 byte: expected 65/);
  assert.equal(test.receipts.length, 0);
});

Deno.test("Chain: a timestamp may differ from the node's clock by at most 60 s", () => {
  for (const offMs of [-60_000, 60_000]) {
    const test = new MemoryChain();
    const tx = deposit({ timestamp: test.now });
    test.holdUp(offMs);
    assert.equal(test.chain.submit(tx).status, "committed");
  }
  for (const offMs of [-60_001, 60_001]) {
    const test = new MemoryChain();
    const tx = deposit({ timestamp: test.now });
    test.holdUp(offMs);
    assert.throws(() => test.chain.submit(tx), RejectedTransactionError);
    assert.throws(() => test.chain.simulate(tx), RejectedTransactionError);
  }
});

Deno.test("Chain: a quote just outside a bound fails, and opens no thesis", () => {
  const test = MemoryChain.funded({ minBet: 1_000_000n });
  const refused: [code: string, fields: Partial<QuoteFields>][] = [
    ["INVALID_PRICE_RANGE", { lowerPrice: 5n, upperPrice: 5n }],
    ["QUOTE_EXPIRED", { deadline: test.now - 1 }],
    ["BET_TOO_SMALL", { betAmount: 999_999n }],
    ["INSUFFICIENT_BALANCE", { betAmount: 5_000_001n, payout: 5_100_000n }],
    ["INSUFFICIENT_BALANCE", { payout: SOLVER_BALANCE + 1_000_001n }],
  ];
  for (const [code, fields] of refused) {
    assertFails(test, rfqSubmit({ timestamp: test.now, ...fields }), code);
  }
  assert.deepEqual(test.statuses, []);
});

Deno.test("Chain: accepts a quote at its deadline, and the smallest bet without collateral", () => {
  const test = MemoryChain.funded({ minBet: 1_000_000n });
  assert.equal(test.bet({ deadline: test.now }).status, "committed");
  assert.equal(test.bet({ payout: 1_000_000n }).status, "committed");
});

Deno.test("Chain: a bet may use the whole balances of its user and its solver", () => {
  const test = MemoryChain.funded();
  const receipt = test.bet({ betAmount: 5_000_000n, payout: 5_000_000n + SOLVER_BALANCE });
  assert.equal(receipt.status, "committed");
  const { ledger } = test.chain.state;
  assert.equal(ledger.account(user.address).balance, 0n);
  assert.equal(ledger.account(solver.address).balance, 0n);
});

Deno.test("Chain: a quote opens one thesis, and a failed attempt may be repeated", () => {
  const test = MemoryChain.funded();
  const fields = { startTime: test.now, endTime: test.now + 10_000, deadline: test.now + 60_000 };
  test.run(40, null);
  const early = rfqSubmit({ timestamp: test.now, ...fields });
  assertFails(test, early, "ORACLE_STALE");
  test.run(1);
  const { status, txHash } = test.bet(fields);
  assert.deepEqual([status, test.chain.findThesis(1)?.txHash], ["committed", txHash]);
  test.clock.advance(1);
  assertFails(test, rfqSubmit({ timestamp: test.now, ...fields }), "QUOTE_ALREADY_USED");
});

Deno.test("Chain: a simulation returns the receipt without any effect", () => {
  const test = MemoryChain.funded();
  const before = balancesOf(test);
  const tx = rfqSubmit({ timestamp: test.now });
  const simulated = test.chain.simulate(tx);
  assert.deepEqual(simulated, { ...simulated, status: "committed", thesisId: 1 });
  const failing = rfqSubmit({ timestamp: test.now, lowerPrice: 9n, upperPrice: 8n });
  assert.equal(test.chain.simulate(failing).error?.code, "INVALID_PRICE_RANGE");
  assert.deepEqual(balancesOf(test), before);
  assert.equal(test.chain.state.ledger.findReceipt(simulated.txHash), undefined);
  assert.deepEqual(test.chain.submit(tx), simulated);
  assert.deepEqual(test.chain.simulate(tx), simulated);
});

Deno.test("Chain: a price at a bound is inside; a price at endTime is ignored", () => {
  const test = MemoryChain.funded();
  test.bet({ endTime: test.now + 300 });
  test.run(1, { "ETH/USDT": 2_850_000_000n });
  test.run(1, { "ETH/USDT": 3_150_000_000n });
  test.run(1, { "ETH/USDT": 1n });
  assert.deepEqual(test.statuses, ["won"]);
});

Deno.test("Chain: before the end, a request to settle fails without a breach", () => {
  const test = MemoryChain.funded();
  test.bet();
  test.run(3);
  const { endTime } = test.chain.findThesis(1)!;
  const details = { endTime, blockTimestamp: test.now };
  assert.throws(() => test.chain.settle(1), { code: "NotEnded", details });
  assert.deepEqual(test.statuses, ["open"]);
  test.run(1, { "ETH/USDT": 1n });
  assert.equal(test.chain.settle(1).status, "lost");
  assert.equal(test.chain.settle(1).status, "lost", "settled already: as it is");
  test.run(10);
  assert.deepEqual(test.theses.map(({ status }) => status), ["open", "lost"]);
});

/** The error code of a bet on 2,850 to 3,150 whose window began this many checkpoints ago. */
function codeOfBegun(test: MemoryChain, checkpointsAgo: number): string | undefined {
  const { now: timestamp } = test;
  const startTime = timestamp - checkpointsAgo * 100;
  const bet = rfqSubmit({ timestamp, startTime, endTime: timestamp + 1_000 });
  return test.chain.simulate(bet).error?.code;
}

Deno.test("Chain: a quote is refused if its window already has a price outside the range", () => {
  const test = MemoryChain.funded();
  for (const price of [3_150_000_001n, 3_150_000_000n, 2_850_000_000n]) {
    test.run(1, { "ETH/USDT": price });
  }
  assert.equal(codeOfBegun(test, 1), undefined, "bounds belong to the range");
  assert.equal(codeOfBegun(test, 2), "RANGE_BROKEN");
  test.run(1, { "ETH/USDT": 2_849_999_999n });
  assert.equal(codeOfBegun(test, 0), "RANGE_BROKEN");
  assertFails(test, rfqSubmit({ timestamp: test.now }), "RANGE_BROKEN");
});

Deno.test("Chain: missing prices do not prevent a quote, a backfilled price outside the range does", () => {
  const test = MemoryChain.funded({ maxStaleMs: 100 });
  const gap = test.now + 100;
  test.run(5, null);
  test.run(2);
  assert.equal(codeOfBegun(test, 8), undefined, "prices are missing");
  test.fill(gap + 100, gap + 200, 1n);
  assert.equal(codeOfBegun(test, 8), "RANGE_BROKEN");
  assert.equal(codeOfBegun(test, 4), undefined, "the breach was before the window");
});

Deno.test("Chain: a window may start at most maxStartAheadMs ahead", () => {
  const test = MemoryChain.funded({ maxStartAheadMs: 5_000 });
  const bet = (aheadMs: number) => {
    const startTime = test.now + aheadMs;
    return test.chain.simulate(
      rfqSubmit({ timestamp: test.now, startTime, endTime: startTime + 1_000 }),
    ).error;
  };
  assert.equal(bet(5_000), undefined);
  assert.equal(bet(5_001)?.code, "INVALID_TIME_RANGE");
  assert.match(bet(5_001)!.message, /starts more than 5000 ms ahead/);
});

// A stranger's transactions fail and cost the node neither disk nor memory that grows.

function strangersBackfill(test: MemoryChain, number: number, prices = 2) {
  return backfill({
    timestamp: test.now + number,
    startTime: test.chain.head.timestampMs - 100,
    prices: Array<bigint>(prices).fill(3_000_000_000n),
    by: stranger,
  });
}

Deno.test("Chain: transactions without permission are answered, but not recorded", () => {
  const test = new MemoryChain();
  test.run(3);
  const { now: timestamp, recorded } = test;
  for (const tx of [strangersBackfill(test, 0), deposit({ timestamp, by: stranger })]) {
    const receipt = test.chain.submit(tx);
    assert.equal(receipt.error?.code, "PERMISSION_DENIED");
    assert.equal(test.chain.submit(tx), receipt, "the first receipt again");
    assert.equal(test.chain.findReceipt(receipt.txHash), receipt);
  }
  test.run(1);
  assert.equal(test.recorded, recorded);
  assert.deepEqual([test.receipts, test.chain.head.transactions], [[], []]);
});

Deno.test("Chain: failed transactions of strangers are kept up to a limit, the oldest are dropped", () => {
  const test = new MemoryChain();
  test.run(3);
  const receipts = Array.from(
    { length: 1_025 },
    (_, number) => test.chain.submit(strangersBackfill(test, number % 50_000, 1)),
  );
  const [first, second] = receipts;
  assert.equal(test.chain.findReceipt(first!.txHash), undefined);
  assert.equal(test.chain.findReceipt(second!.txHash), second);
  assert.equal(test.chain.submit(strangersBackfill(test, 0, 1)).error?.code, "PERMISSION_DENIED");
});
