import assert from "node:assert/strict";
import { ChainGuard, ChainMismatchError } from "../../../lib/intents/chain_guard.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { NodeUnreachableError } from "../../../lib/net/core_client.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const ONE: Hex = `0x${"01".repeat(32)}`;
const TWO: Hex = `0x${"02".repeat(32)}`;

class World {
  readonly clock = new FakeClock();
  readonly driver = SqliteDriver.open(":memory:");
  readonly store: IntentStore = new IntentStore(this.driver, "test");
  genesis: Hex | null = ONE;
  asked = 0;

  /** As a process has it: a restart forgets what it knew. */
  newGuard(store = this.store): ChainGuard {
    const genesisHash = () => {
      this.asked += 1;
      return Promise.resolve(this.genesis);
    };
    return new ChainGuard({
      store,
      node: { url: "http://user:secret@node", genesisHash },
      clock: this.clock,
    });
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

Deno.test("ChainGuard: a store learns the first chain it meets, and refuses every other one", () =>
  withWorld(async (world) => {
    await world.newGuard().require();
    world.genesis = TWO;
    await assert.rejects(world.newGuard().require(), (thrown) => {
      assert.ok(thrown instanceof ChainMismatchError);
      assert.match(thrown.message, new RegExp(`begins with ${TWO}, but .* begins with ${ONE}`));
      assert.match(thrown.message, /set --rpc-url .* or --database to a new database$/);
      assert.doesNotMatch(thrown.message, /secret/);
      return true;
    });
    world.genesis = ONE;
    await world.newGuard().require();
  }));

Deno.test("ChainGuard: a chain that changes while the process runs is noticed within 100 ms", () =>
  withWorld(async (world) => {
    const guard = world.newGuard();
    await guard.require();
    world.genesis = TWO;
    await guard.require();
    assert.equal(world.asked, 1);
    world.clock.advance(100);
    await assert.rejects(guard.require(), ChainMismatchError);
    world.genesis = ONE;
    world.clock.advance(100);
    await guard.require();
  }));

Deno.test("ChainGuard: a node that does not tell its chain serves only a store that has none", () =>
  withWorld(async (world) => {
    world.genesis = null;
    const guard = world.newGuard();
    await guard.require();
    world.genesis = ONE;
    world.clock.advance(100);
    await guard.require();
    world.genesis = null;
    world.clock.advance(100);
    await assert.rejects(guard.require(), /does not tell its first block/);
  }));

Deno.test("ChainGuard: services that share a database have a chain each", () =>
  withWorld(async (world) => {
    await world.newGuard().require();
    world.genesis = TWO;
    await world.newGuard(new IntentStore(world.driver, "other")).require();
    await assert.rejects(world.newGuard().require(), ChainMismatchError);
  }));

Deno.test("ChainGuard: a node that is away is no other chain", () =>
  withWorld(async (world) => {
    const guard = new ChainGuard({
      store: world.store,
      node: {
        url: "http://node",
        genesisHash: () => Promise.reject(new NodeUnreachableError("http://node", "test")),
      },
      clock: world.clock,
    });
    await assert.rejects(guard.require(), NodeUnreachableError);
    assert.equal(await world.store.bindChain(null), null);
  }));
