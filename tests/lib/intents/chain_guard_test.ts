import assert from "node:assert/strict";
import { getLogger } from "@logtape/logtape";
import { ChainGuard, WrongChainError } from "../../../lib/intents/chain_guard.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { NodeTimeoutError, NodeUnreachableError } from "../../../lib/net/core_reader.ts";
import { RpcError } from "../../../lib/protocol/jsonrpc.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { COMMITTED, newIntent } from "../../support/intents.ts";

const ONE: Hex = `0x${"01".repeat(32)}`;
const TWO: Hex = `0x${"02".repeat(32)}`;

class World {
  readonly clock = new FakeClock();
  readonly driver = SqliteDriver.open(":memory:");
  readonly store: IntentStore = new IntentStore(this.driver, "test");
  genesis: Hex | null = ONE;
  head = 1_000;
  headMs = 0;
  /** What the node has, by transaction hash. */
  readonly receipts = new Map<Hex, Receipt>();
  /** What a service finds on the chain without a receipt. */
  onChain = false;
  asked = 0;
  /** Questions for the newest block. */
  askedHead = 0;
  allowsReverts = false;
  /** What a question for the first block fails with. */
  failure: Error | undefined;
  /** The node reports no blocks, and not whether it allows reverts. */
  isOld = false;

  /** Like a restart of the process, which starts without a cache. */
  newGuard(store = this.store): ChainGuard {
    return new ChainGuard({
      store,
      node: {
        url: "http://user:secret@node",
        genesisHash: () => {
          if (this.failure !== undefined) return Promise.reject(this.failure);
          this.asked += 1;
          return Promise.resolve(this.genesis);
        },
        getHead: () => {
          this.askedHead += 1;
          if (this.isOld) return Promise.reject(new RpcError(-32601, "No method"));
          return Promise.resolve({ number: this.head, timestampMs: this.headMs });
        },
        getTransaction: (txHash) => Promise.resolve(this.receipts.get(txHash) ?? null),
        allowsReverts: () =>
          this.isOld
            ? Promise.reject(new RpcError(-32601, "No method"))
            : Promise.resolve(this.allowsReverts),
      },
      clock: this.clock,
      log: getLogger("test"),
      isOnChain: () => Promise.resolve(this.onChain),
    });
  }

  /** Commits an intent on the node and in the store. */
  async commit(key: string): Promise<Intent> {
    const txHash: Hex = `0x${key.padStart(64, "0")}`;
    const transaction = { txHash, text: "{}" };
    const { intent } = await this.store.insert(newIntent(key, { transaction }));
    const receipt: Receipt = { txHash, status: "committed", blockNumber: this.head };
    this.receipts.set(txHash, receipt);
    const outcome = { ...COMMITTED, receipt: JSON.stringify(receipt) };
    return (await this.store.finish(intent, outcome, this.clock.now())).intent;
  }
}

async function withWorld(test: (world: World) => Promise<void>): Promise<void> {
  const world = new World();
  try {
    await test(world);
  } finally {
    await world.store.close();
  }
}

const rewound = { name: "WrongChainError", code: "CHAIN_REWOUND", retryable: true };

Deno.test("ChainGuard: a new store records the chain of the node, and then refuses other chains", () =>
  withWorld(async (world) => {
    await world.newGuard().requireChain();
    world.genesis = TWO;
    await assert.rejects(world.newGuard().requireChain(), (thrown) => {
      assert.ok(thrown instanceof WrongChainError);
      assert.equal(thrown.code, "CHAIN_MISMATCH");
      assert.match(thrown.message, new RegExp(`begins with ${TWO}, but .* begins with ${ONE}`));
      assert.match(thrown.message, /set --rpc-url .* or --database to a new database$/);
      assert.doesNotMatch(thrown.message, /secret/);
      return true;
    });
    world.genesis = ONE;
    await world.newGuard().requireChain();
  }));

Deno.test("ChainGuard: a chain that changes while the process runs is noticed within 100 ms", () =>
  withWorld(async (world) => {
    const guard = world.newGuard();
    await guard.requireChain();
    world.genesis = TWO;
    await guard.requireChain();
    assert.equal(world.asked, 1);
    world.clock.advance(100);
    await assert.rejects(guard.requireChain(), WrongChainError);
    world.genesis = ONE;
    world.clock.advance(100);
    await guard.requireChain();
  }));

Deno.test("ChainGuard: a node that does not report its chain is accepted only with a new store", () =>
  withWorld(async (world) => {
    world.genesis = null;
    const guard = world.newGuard();
    await guard.requireChain();
    world.genesis = ONE;
    world.clock.advance(100);
    await guard.requireChain();
    world.genesis = null;
    world.clock.advance(100);
    await assert.rejects(guard.requireChain(), /does not report its first block/);
  }));

Deno.test("ChainGuard: services that share a database each have their own chain", () =>
  withWorld(async (world) => {
    await world.newGuard().requireChain();
    world.genesis = TWO;
    await world.newGuard(new IntentStore(world.driver, "other")).requireChain();
    await assert.rejects(world.newGuard().requireChain(), WrongChainError);
  }));

Deno.test("ChainGuard: an unreachable node is not reported as CHAIN_MISMATCH", () =>
  withWorld(async (world) => {
    world.failure = new NodeUnreachableError("http://node", "test");
    await assert.rejects(world.newGuard().requireChain(), NodeUnreachableError);
    assert.equal((await world.store.updateRecord()).genesis, null);
  }));

Deno.test("ChainGuard: a node below the highest block that the store remembers is CHAIN_REWOUND", () =>
  withWorld(async (world) => {
    await world.newGuard().refresh();
    world.head = 950;
    await world.newGuard().requireChain(); // a read node may lag by 50 blocks
    world.head = 949;
    await assert.rejects(world.newGuard().requireChain(), (thrown) => {
      assert.ok(thrown instanceof WrongChainError);
      assert.equal(thrown.code, "CHAIN_REWOUND");
      assert.match(thrown.message, /is at block 949, but was at block 1000 before/);
      return true;
    });
    assert.equal((await world.store.updateRecord()).highestBlock, 1_000);
    await world.store.updateRecord({ resetBlock: 949 });
    await world.newGuard().requireChain();
  }));

Deno.test("ChainGuard: a process learns a higher block that another one saw", () =>
  withWorld(async (world) => {
    const guard = world.newGuard();
    await guard.refresh();
    await world.store.updateRecord({ highestBlock: 2_000 });
    world.clock.advance(100);
    await assert.rejects(guard.refresh(), rewound);
  }));

Deno.test("ChainGuard: on a node without block numbers, only receipts are checked", () =>
  withWorld(async (world) => {
    await world.store.updateRecord({ genesis: ONE, highestBlock: 2_000 });
    world.isOld = true;
    const guard = world.newGuard();
    await guard.refresh();
    await world.commit("1");
    world.receipts.clear();
    world.clock.advance(2_000);
    await assert.rejects(guard.refresh(), rewound);
  }));

Deno.test("ChainGuard: a node without the newest committed receipt is CHAIN_REWOUND, also at start", () =>
  withWorld(async (world) => {
    const guard = world.newGuard();
    await guard.requireChain();
    guard.onCommitted(await world.commit("1"));
    world.clock.advance(2_000);
    await guard.refresh();
    world.receipts.clear();
    await assert.rejects(guard.refresh(), rewound);
    world.clock.advance(100);
    await assert.rejects(guard.requireChain(), rewound);
    await assert.rejects(world.newGuard().requireChain(), rewound);
    // The receipt may have been dropped, but its effect is there.
    world.onChain = true;
    await world.newGuard().requireChain();
  }));

Deno.test("ChainGuard: after a failed refresh, requests fail despite a cached success", () =>
  withWorld(async (world) => {
    const guard = world.newGuard();
    guard.onCommitted(await world.commit("1"));
    world.clock.advance(2_000);
    await guard.refresh();
    world.receipts.clear();
    await guard.requireChain();
    await assert.rejects(guard.refresh(), rewound);
    await assert.rejects(guard.requireChain(), rewound);
  }));

Deno.test("ChainGuard: a receipt stays missing after a later commit on the rewound chain", () =>
  withWorld(async (world) => {
    const guard = world.newGuard();
    await guard.requireChain();
    guard.onCommitted(await world.commit("1"));
    world.clock.advance(500);
    world.receipts.clear();
    await guard.refresh(); // a read node may lag by 2 s
    world.clock.advance(700);
    guard.onCommitted(await world.commit("2"));
    world.clock.advance(800);
    await assert.rejects(guard.refresh(), rewound);
  }));

Deno.test("ChainGuard: requests check blocks and receipts only once in 10 s", () =>
  withWorld(async (world) => {
    const guard = world.newGuard();
    await guard.requireChain();
    guard.onCommitted(await world.commit("1"));
    for (let asked = 0; asked < 99; asked++) {
      world.clock.advance(100);
      await guard.requireChain();
    }
    assert.deepEqual([world.asked, world.askedHead], [100, 1]);
    world.receipts.clear();
    world.clock.advance(100);
    await assert.rejects(guard.requireChain(), rewound);
    assert.equal(world.askedHead, 2);
  }));

Deno.test("ChainGuard: blocks and receipts are checked again after the node was unreachable, not after a timeout", () =>
  withWorld(async (world) => {
    const guard = world.newGuard();
    await guard.refresh();
    world.failure = new NodeTimeoutError("http://node", "test", 1_000);
    world.clock.advance(100);
    await assert.rejects(guard.requireChain(), NodeTimeoutError);
    world.failure = undefined;
    world.clock.advance(100);
    await guard.requireChain();
    assert.equal(world.askedHead, 1, "a busy node was not restarted");
    world.failure = new NodeUnreachableError("http://node", "test");
    world.clock.advance(100);
    await assert.rejects(guard.requireChain(), NodeUnreachableError);
    world.failure = undefined;
    world.head = 10;
    world.clock.advance(100);
    await assert.rejects(guard.requireChain(), rewound);
  }));

Deno.test("ChainGuard: a revert is accepted on a development chain, which is checked again afterwards", () =>
  withWorld(async (world) => {
    const guard = world.newGuard();
    guard.onCommitted(await world.commit("1"));
    await guard.refresh();
    world.clock.advance(2_000);
    world.receipts.clear();
    world.head = 10;
    world.allowsReverts = true;
    await guard.refresh();
    assert.equal((await world.store.updateRecord()).highestBlock, 10);
    assert.equal((await world.store.find("1"))?.state, "committed");
    // A revert that was accepted is not reported again, even if the node no longer allows reverts.
    world.allowsReverts = false;
    world.clock.advance(10_000);
    await guard.refresh();
    guard.onCommitted(await world.commit("2"));
    world.clock.advance(2_000);
    await guard.refresh();
    world.receipts.clear();
    await assert.rejects(guard.refresh(), rewound);
  }));

Deno.test("ChainGuard: new blocks whose time is more than 30 s off show that the clocks differ", () =>
  withWorld(async (world) => {
    const guard = world.newGuard();
    const refreshAfter = async (ms: number, blocks: number, aheadMs: number) => {
      world.clock.advance(ms);
      world.head += blocks;
      world.headMs = world.clock.now() - aheadMs;
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
  }));
