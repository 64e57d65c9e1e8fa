/** A stranger's transactions fail and cost the node neither disk nor memory that grows. */
import assert from "node:assert/strict";
import { STRANGER_FAILURES_MAX } from "../../../services/node/chain/chain.ts";
import { actors, backfill, deposit, hashOf } from "../support/actors.ts";
import { TestChain } from "../support/chain_in_memory.ts";

const { stranger, user } = actors;

function strangersBackfill(test: TestChain, number: number, prices = 2) {
  return backfill({
    timestamp: test.now + number,
    startTime: test.chain.head.timestampMs - 100,
    prices: Array<bigint>(prices).fill(3_000_000_000n),
    by: stranger,
  });
}

Deno.test("Chain: transactions without permission are answered, but not recorded", () => {
  const test = new TestChain();
  test.run(3);
  const { now: timestamp, recorded } = test;
  const credit = { timestamp, user: user.address, amount: 1n, externalTxHash: hashOf(1) };
  for (const tx of [strangersBackfill(test, 0), deposit({ ...credit, by: stranger })]) {
    const receipt = test.chain.submit(tx);
    assert.equal(receipt.error?.code, "PERMISSION_DENIED");
    assert.equal(test.chain.submit(tx), receipt, "the first receipt again");
    assert.equal(test.chain.receipt(receipt.txHash), receipt);
  }
  test.run(1);
  assert.equal(test.recorded, recorded);
  assert.deepEqual([test.receipts, test.chain.head.transactions], [[], []]);
});

Deno.test("Chain: failed transactions of strangers are kept up to a limit, the oldest are dropped", () => {
  const test = new TestChain();
  test.run(3);
  const receipts = Array.from(
    { length: STRANGER_FAILURES_MAX + 1 },
    (_, number) => test.chain.submit(strangersBackfill(test, number % 50_000, 1)),
  );
  const [first, second] = receipts;
  assert.equal(test.chain.receipt(first!.txHash), undefined);
  assert.equal(test.chain.receipt(second!.txHash), second);
  assert.equal(test.chain.submit(strangersBackfill(test, 0, 1)).error?.code, "PERMISSION_DENIED");
});
