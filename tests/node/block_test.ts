import assert from "node:assert/strict";
import { TestChain } from "./support/test_chain.ts";

Deno.test("Chain: blocks follow each other by hash, and old ones are let go", () => {
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
