/** A stranger's transactions fail and cost the node neither disk nor memory that grows. */
import assert from "node:assert/strict";
import { STRANGER_FAILURES_MAX } from "../../../services/node/chain/journal.ts";
import { actors, backfill, deposit, hashOf, rfqSubmit } from "../support/actors.ts";
import { testOptions } from "../support/running_node.ts";
import { startFakeOracle } from "../support/fake_oracle.ts";
import { SteppedNode } from "../support/stepped_node.ts";
import { TestChain } from "../support/test_chain.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const { stranger, user, solver } = actors;

function strangersBackfill(test: TestChain, number: number, prices = 2) {
  return backfill({
    timestamp: test.now + number,
    startTime: test.chain.head.timestampMs - 100,
    prices: Array<bigint>(prices).fill(3_000_000_000n),
    by: stranger,
  });
}

Deno.test("Chain: transactions of senders without permission are answered and not recorded", () => {
  const test = new TestChain();
  test.run(3);
  const { now: timestamp } = test;
  const credit = { timestamp, user: user.address, amount: 1n, externalTxHash: hashOf(1) };
  for (const tx of [strangersBackfill(test, 0), deposit({ ...credit, by: stranger })]) {
    const receipt = test.chain.submit(tx);
    assert.equal(receipt.error?.code, "PERMISSION_DENIED");
    assert.equal(test.chain.submit(tx), receipt, "the first receipt again");
    assert.equal(test.chain.receipt(receipt.txHash), receipt);
  }
  test.run(1);
  assert.deepEqual([test.journal, test.receipts, test.chain.head.transactions], [[], [], []]);
});

Deno.test("Chain: a bet by an address that never had a balance is answered and not recorded", () => {
  const test = new TestChain();
  test.run(3);
  const tx = rfqSubmit({ timestamp: test.now, solver: stranger, user: stranger });
  assert.equal(test.chain.submit(tx).error?.code, "INSUFFICIENT_BALANCE");
  assert.deepEqual(test.journal, []);
  const known = test.chain.submit(rfqSubmit({ timestamp: test.now, solver }));
  assert.equal(known.error?.code, "INSUFFICIENT_BALANCE", "the user has nothing");
  assert.deepEqual(test.journal, [{ kind: "failure", atMs: test.now, receipt: known }]);
  assert.deepEqual(test.receipts, [known]);
});

Deno.test("Chain: failures of strangers are kept up to a bound, the oldest dropped first", () => {
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

Deno.test("Data directory: 200 full backfills of a stranger add nothing to the journal", async () => {
  const dataDir = await Deno.makeTempDir();
  const clock = new FakeClock();
  const oracle = startFakeOracle(() => clock.now());
  const stepped = await SteppedNode.start(testOptions({ oracleUrl: oracle.url, dataDir }), clock);
  try {
    await stepped.run(3);
    const journalBytes = async () => (await Deno.stat(`${dataDir}/chain.journal`)).size;
    const before = await journalBytes();
    for (let number = 0; number < 200; number++) {
      const { error } = await stepped.client.sendTransaction(backfill({
        timestamp: clock.now() + number,
        startTime: clock.now() - 600_000,
        prices: Array<bigint>(6_000).fill(3_000_000_000n),
        by: stranger,
      }));
      assert.equal(error?.code, "PERMISSION_DENIED");
    }
    assert.equal(await journalBytes() - before, 0);
  } finally {
    await stepped.stop();
    await oracle.stop();
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("Data directory: a recorded failure takes few bytes and survives a restart", async () => {
  const dataDir = await Deno.makeTempDir();
  const clock = new FakeClock();
  const oracle = startFakeOracle(() => clock.now());
  const options = testOptions({ oracleUrl: oracle.url, dataDir });
  try {
    const first = await SteppedNode.start(options, clock);
    await first.run(3);
    const before = (await Deno.stat(`${dataDir}/chain.journal`)).size;
    const failed = await first.client.sendTransaction(rfqSubmit({ timestamp: clock.now() }));
    const added = (await Deno.stat(`${dataDir}/chain.journal`)).size - before;
    await first.stop();
    assert.equal(failed.status, "failed");
    assert(added > 0 && added < 500, `${added} bytes`);
    const second = await SteppedNode.start(options, clock);
    assert.deepEqual(await second.client.getTransaction(failed.txHash), failed);
    await second.stop();
  } finally {
    await oracle.stop();
    await Deno.remove(dataDir, { recursive: true });
  }
});
