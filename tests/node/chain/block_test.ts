import assert from "node:assert/strict";
import { actors, deposit, hashOf } from "../support/actors.ts";
import { TestChain } from "../support/test_chain.ts";

Deno.test("Chain: blocks follow each other by hash, and old ones are dropped", () => {
  const test = new TestChain();
  test.run(4_100, null);
  const { head } = test.chain;
  assert.equal(head.number, 4_100);
  const parents = test.heads.slice(1).map(({ parentHash }) => parentHash);
  assert.deepEqual(parents, test.heads.slice(0, -1).map(({ hash }) => hash));
  assert.equal(test.chain.block(head.number - 1)?.hash, head.parentHash);
  assert.equal(test.chain.block(4), undefined);
  assert.equal(test.chain.block(5)?.number, 5);
  assert.equal(new Set(test.heads.map(({ hash }) => hash)).size, 4_100);
});

Deno.test("Chain: a block holds the transactions since the one before, each once", () => {
  const test = new TestChain();
  const hashes = [1, 2, 3].map((number) => {
    const fields = { timestamp: test.now, user: actors.user.address, amount: 1n };
    const { txHash } = test.chain.submit(deposit({ ...fields, externalTxHash: hashOf(number) }));
    if (number !== 1) test.run(1);
    return txHash;
  });
  test.run(1);
  const sealed = test.heads.map(({ transactions }) => transactions);
  assert.deepEqual(sealed, [hashes.slice(0, 2), hashes.slice(2), []]);
});

Deno.test("Chain: time goes on through checkpoints without prices, for the price history too", () => {
  const test = new TestChain({ maxStaleMs: 0 });
  test.run(1);
  test.run(3, null);
  for (const { ring } of test.chain.state.histories.values()) assert.equal(ring.newest, test.now);
});
