import assert from "node:assert/strict";
import type { ChainGuard } from "../../../lib/intents/chain_guard.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { NodeTimeoutError, NodeUnreachableError } from "../../../lib/net/core_reader.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { isSettled } from "../../support/eventually.ts";
import { GENESIS } from "../../support/scripted_node.ts";
import { withWorld, type World } from "./world.ts";

/** Declares a test in a world of its own. */
const test = (name: string, run: (world: World) => Promise<void>) =>
  Deno.test(`ChainGuard: ${name}`, () => withWorld(run));

const OTHER: Hex = `0x${"02".repeat(32)}`;

// Those of chain_guard.ts.
const CHECK_CACHED_MS = 100;
const RECORD_CACHED_MS = 10_000;
const READ_NODE_LAG_MS = 2_000;

/** Requires the chain once the last check is no longer cached. */
function askLater({ clock }: World, guard: ChainGuard): Promise<void> {
  clock.advance(CHECK_CACHED_MS);
  return guard.requireChain();
}

/** Refreshes once each read node has what was committed before. */
function refreshLater({ clock }: World, guard: ChainGuard): Promise<void> {
  clock.advance(READ_NODE_LAG_MS);
  return guard.refresh();
}

const mismatch = { name: "WrongChainError", code: "CHAIN_MISMATCH" };
const rewound = { name: "WrongChainError", code: "CHAIN_REWOUND" };

test("a new store records the chain of the node, and then refuses other chains", async (world) => {
  await world.newGuard().requireChain();
  world.node.genesis = OTHER;
  const message = new RegExp(
    `^(?!.*secret).* begins with ${OTHER}, but .* begins with ${GENESIS}`,
  );
  await assert.rejects(world.newGuard().requireChain(), { ...mismatch, message });
  world.node.genesis = GENESIS;
  await world.newGuard().requireChain();
});

test("a node with another chain id is refused, and no new store records its chain", async (world) => {
  const guard = world.newGuard();
  world.node.id = 4242;
  const message = /^(?!.*secret).* has chain id 4242: expected 1337, .* correct --chain-id/;
  await assert.rejects(guard.requireChain(), { ...mismatch, message });
  assert.equal((await world.store.records.read()).genesis, null);
  world.node.id = 1337;
  await askLater(world, guard);
  world.node.id = 4242;
  await assert.rejects(guard.refresh(), mismatch);
});

test("services that share a database each have their own chain", async (world) => {
  await world.newGuard().requireChain();
  world.node.genesis = OTHER;
  await world.newGuard(new IntentStore(world.driver, "other")).requireChain();
  await assert.rejects(world.newGuard().requireChain(), mismatch);
});

test("a check that fails ends only when each of its requests has ended", async (world) => {
  world.node.genesisError = new NodeUnreachableError("http://node", "test");
  const { promise, resolve } = Promise.withResolvers<number>();
  world.node.getChainId = () => promise;
  const rejected = assert.rejects(world.newGuard().requireChain(), NodeUnreachableError);
  assert.equal(await isSettled(rejected), false);
  resolve(1337);
  await rejected;
});

test("a node below the highest block that the store remembers is CHAIN_REWOUND", async (world) => {
  await world.newGuard().refresh();
  world.node.head.number = 950;
  await world.newGuard().requireChain(); // a read node may lag by 50 blocks
  world.node.head.number = 949;
  const message = /is at block 949, but was at block 1000 before/;
  await assert.rejects(world.newGuard().requireChain(), { ...rewound, message });
  assert.equal((await world.store.records.read()).highestBlock, 1_000);
  await world.store.records.update({ resetBlock: 949 });
  await world.newGuard().requireChain();
});

test("of two processes that meet different chains, the first binds the store, and the highest block stays", async ({ store: { records } }) => {
  const first = await records.update({ genesis: GENESIS, highestBlock: 10 });
  assert.deepEqual(first, { genesis: GENESIS, signer: null, highestBlock: 10 });
  assert.deepEqual(await records.update({ genesis: OTHER, highestBlock: 9 }), first);
});

test("a node without the newest committed receipt is CHAIN_REWOUND, also at start", async (world) => {
  const guard = world.newGuard();
  await guard.requireChain();
  guard.onCommitted(await world.commit("1"));
  await refreshLater(world, guard);
  world.node.receipts.clear();
  await assert.rejects(guard.refresh(), rewound);
  await assert.rejects(askLater(world, guard), rewound);
  await assert.rejects(world.newGuard().requireChain(), rewound);
  // The receipt may have been dropped, but its effect is there.
  world.onChain = true;
  await world.newGuard().requireChain();
});

test("the newest committed receipt may be of an intent that was recorded before others", async (world) => {
  const slow = await world.record("1");
  await world.commit("2");
  world.clock.advance(20_000);
  const { txHash } = slow.transaction ?? assert.fail("It is signed");
  const receipt = world.node.addReceipt(txHash);
  const guard = world.newGuard();
  guard.onCommitted(await world.finish("1", JSON.stringify(receipt)));
  await refreshLater(world, guard);
  world.node.receipts.delete(txHash); // a backup from between the two
  await assert.rejects(guard.refresh(), rewound);
  await assert.rejects(world.newGuard().requireChain(), rewound);
});

test("a commit that becomes known during a check is looked for as well", async (world) => {
  const guard = world.newGuard();
  const [first, second] = [await world.commit("1"), await world.commit("2")];
  guard.onCommitted(second);
  world.clock.advance(READ_NODE_LAG_MS);
  const { onLookup, receipts } = world.node;
  world.node.onLookup = (txHash) => {
    guard.onCommitted(first); // it was committed in the same second
    return receipts.get(txHash) ?? null;
  };
  await guard.refresh();
  world.node.onLookup = onLookup;
  receipts.delete(first.transaction?.txHash ?? assert.fail("It is signed"));
  await assert.rejects(askLater(world, guard), rewound);
});

test("intents that an operator has reconciled are not reported as missing from the chain", async (world) => {
  const { store, clock, node } = world;
  const guard = world.newGuard();
  const gone = await world.commit("1");
  clock.advance(1_000); // of each second, one commit is looked for
  const sentAgain = await world.commit("2");
  clock.advance(1_000);
  const failure = { code: "CHAIN_REWOUND", message: "It is gone" };
  const { transaction } = gone;
  const ended = { state: "failed", transaction, receipt: null, failure } as const;
  const again = { txHash: OTHER, text: "{}" };
  const receipt = JSON.stringify(node.addReceipt(OTHER));
  const repeated = { state: "committed", transaction: again, receipt, failure: null } as const;
  await store.replaceResult(gone, ended, clock.now());
  await store.replaceResult(sentAgain, repeated, clock.now());
  for (const intent of [gone, sentAgain]) {
    guard.onCommitted(intent);
    node.receipts.delete(intent.transaction?.txHash ?? assert.fail("It is signed"));
    clock.advance(READ_NODE_LAG_MS);
    await guard.refresh();
  }
  node.receipts.clear();
  await assert.rejects(guard.refresh(), rewound);
});

test("after a failed refresh, requests fail despite a cached success", async (world) => {
  const guard = world.newGuard();
  guard.onCommitted(await world.commit("1"));
  await refreshLater(world, guard);
  world.node.receipts.clear();
  await guard.requireChain();
  await assert.rejects(guard.refresh(), rewound);
  await assert.rejects(guard.requireChain(), rewound);
});

test("a receipt stays missing after a later commit on the rewound chain", async (world) => {
  const guard = world.newGuard();
  await guard.requireChain();
  guard.onCommitted(await world.commit("1"));
  world.clock.advance(500);
  world.node.receipts.clear();
  await guard.refresh(); // a read node may lag by 2 s
  world.clock.advance(700);
  guard.onCommitted(await world.commit("2"));
  world.clock.advance(800);
  await assert.rejects(guard.refresh(), rewound);
});

test("requests check the newest block each 100 ms, the newest receipt after 10 s", async (world) => {
  const guard = world.newGuard();
  await guard.requireChain();
  guard.onCommitted(await world.commit("1"));
  for (let asked = 0; asked < 99; asked++) {
    await askLater(world, guard);
  }
  assert.deepEqual(world.node.asked, { genesis: 100, head: 100, receipt: 1 });
  world.node.receipts.clear();
  await assert.rejects(askLater(world, guard), rewound);
});

test("after an outage or on an older block, a node is checked with all that the store knows", async (world) => {
  const guard = world.newGuard();
  guard.onCommitted(await world.commit("1"));
  await refreshLater(world, guard);
  const { receipts } = world.node;
  const receipt = [...receipts];
  receipts.clear();
  await askLater(world, guard);
  world.node.genesisError = new NodeUnreachableError("http://node", "test");
  await assert.rejects(askLater(world, guard), NodeUnreachableError);
  world.node.genesisError = undefined;
  await assert.rejects(askLater(world, guard), rewound);
  for (const [txHash, found] of receipt) receipts.set(txHash, found);
  await askLater(world, guard);
  world.node.head.number = 10;
  await assert.rejects(askLater(world, guard), rewound);
});

test("another chain is CHAIN_MISMATCH, even if reads of its receipts time out", async (world) => {
  const guard = world.newGuard();
  guard.onCommitted(await world.commit("1"));
  await guard.refresh();
  world.clock.advance(READ_NODE_LAG_MS);
  world.node.onLookup = () => Promise.reject(new NodeTimeoutError("http://node", "test", 1_000));
  world.node.genesis = OTHER;
  await assert.rejects(guard.refresh(), mismatch);
  world.node.genesis = GENESIS;
  await assert.rejects(guard.refresh(), NodeTimeoutError);
});

test("a revert is accepted on a development chain, which is checked again afterwards", async (world) => {
  const guard = world.newGuard();
  guard.onCommitted(await world.commit("1"));
  await guard.refresh();
  world.clock.advance(READ_NODE_LAG_MS);
  world.node.receipts.clear();
  world.node.head.number = 10;
  world.node.areRevertsAllowed = true;
  await guard.refresh();
  assert.equal((await world.store.records.read()).highestBlock, 10);
  assert.equal((await world.store.find("1"))?.state, "committed");
  // A revert that was accepted is not reported again, even if the node no longer allows reverts.
  world.node.areRevertsAllowed = false;
  world.clock.advance(RECORD_CACHED_MS);
  await guard.refresh();
  guard.onCommitted(await world.commit("2"));
  await refreshLater(world, guard);
  world.node.receipts.clear();
  await assert.rejects(guard.refresh(), rewound);
});

test("new blocks whose time is more than 30 s off show that the clocks differ", async (world) => {
  const guard = world.newGuard();
  const refreshAfter = async (ms: number, blocks: number, aheadMs: number) => {
    world.clock.advance(ms);
    world.node.head.number += blocks;
    world.node.head.timestampMs = world.clock.now() - aheadMs;
    await guard.refresh();
    return /it is \d+ ms (ahead of|behind)/.exec(guard.clocks.problem?.message ?? "")?.[0];
  };
  assert.equal(await refreshAfter(0, 0, 90_000), undefined, "no block has come yet");
  assert.equal(await refreshAfter(5_000, 0, 90_000), undefined, "the node makes no blocks");
  assert.equal(await refreshAfter(60_000, 1, 60_000), undefined, "it may be as old as that");
  assert.equal(await refreshAfter(5_000, 1, 90_000), "it is 90000 ms ahead of");
  assert.equal(await refreshAfter(5_000, 1, -30_001), "it is 30001 ms behind");
  assert.equal(guard.clocks.problem?.code, "CLOCKS_DIFFER");
  assert.equal(await refreshAfter(5_000, 1, 30_000), undefined);
});
