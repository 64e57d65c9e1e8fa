import assert from "node:assert/strict";
import { ClockComparison } from "../../../lib/intents/clock_comparison.ts";
import { rowDamaged, StoreError } from "../../../lib/intents/errors.ts";
import { DamagedRows } from "../../../lib/intents/damaged_rows.ts";
import { openIntentStore } from "../../../lib/intents/open_store.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { createUpkeepLoop } from "../../../lib/intents/upkeep.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { DAY_MS } from "../../../lib/time.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { newIntent } from "../../support/intents.ts";
import { DATABASE_KINDS } from "../../support/postgres.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { withWorld, type World } from "./world.ts";

const RETAIN_MS = 60_000;
const FAILURE = { code: "LATE", message: "Late" };

/** A node whose clock holds nothing back. */
const NO_CLOCK = { blockTimeMs: Infinity };

/** Runs a test while the store is kept up. */
function withUpkeep(
  test: (world: World) => Promise<void>,
  chainClock: { readonly blockTimeMs: number } = NO_CLOCK,
  retainMs = RETAIN_MS,
): Promise<void> {
  return withWorld(async (world) => {
    const upkeep = createUpkeepLoop({ ...world, chainClock, retainMs });
    upkeep.start();
    await world.clock.untilScheduled();
    await test(world);
    await upkeep.stop();
  });
}

/** Lets time pass, every pass that falls due with it. */
async function pass({ clock }: World, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 10_000) {
    clock.advance(10_000);
    await clock.untilScheduled();
  }
}

async function has({ store }: World, key: string): Promise<boolean> {
  return await store.find(key) !== undefined;
}

Deno.test("createUpkeepLoop: a finished intent is deleted once its end and its deadline are old enough", () =>
  withUpkeep(async (world) => {
    await world.record("short", { lifeMs: 1_000 });
    await world.record("long", { lifeMs: 600_000 });
    await world.record("late", { lifeMs: 1_000 });
    await world.finish("short");
    await world.finish("long");
    await pass(world, RETAIN_MS);
    await world.finish("late");
    assert.equal(await has(world, "short"), true);
    await pass(world, 20_000);
    assert.equal(await has(world, "short"), false);
    assert.equal(await has(world, "late"), true, "its outcome is new, though its deadline is old");
    // Until then the request could be sent again.
    assert.equal(await has(world, "long"), true);
    await pass(world, 600_000);
    assert.equal(await has(world, "long"), false);
  }));

Deno.test("createUpkeepLoop: refused requests that passes left are looked for until all are deleted", () =>
  withWorld(async (world) => {
    /** Since when each pass looks for them. */
    const since: number[] = [];
    let areMany = false;
    world.store.deleteUnsent = ({ fromMs, limit }) => {
      if (since.at(-1) !== fromMs) since.push(fromMs);
      return Promise.resolve(areMany ? limit : 0);
    };
    const upkeep = createUpkeepLoop({ ...world, chainClock: NO_CLOCK, retainMs: RETAIN_MS });
    upkeep.start();
    await world.clock.untilScheduled();
    areMany = true;
    await pass(world, 30_000);
    areMany = false;
    await pass(world, 20_000);
    await upkeep.stop();
    const [first = 0] = since;
    assert.deepEqual(since.map((fromMs) => fromMs - first), [0, 40_000]);
  }));

Deno.test("createUpkeepLoop: a clock that is days ahead of the chain deletes nothing", () => {
  const chainClock = { blockTimeMs: -Infinity };
  return withUpkeep(async (world) => {
    chainClock.blockTimeMs = world.clock.now();
    await world.record("used", { lifeMs: 1_000 });
    await world.finish("used");
    world.clock.advance(8 * DAY_MS);
    await pass(world, 20_000);
    assert.equal(await has(world, "used"), true);
    chainClock.blockTimeMs += 8 * DAY_MS;
    await pass(world, 20_000);
    assert.equal(await has(world, "used"), false);
  }, chainClock);
});

for (const { name, ignore, withDatabase } of DATABASE_KINDS) {
  Deno.test({
    name:
      `createUpkeepLoop on ${name}: until the chain's time is known, nothing is deleted and nothing fails`,
    ignore,
    fn: () =>
      withLogs("warning", (records) =>
        withDatabase(async (database) => {
          await using store = await openIntentStore(database, "test");
          const clock = new FakeClock();
          await store.insertFailed(newIntent("old", { createdAtMs: 0, expiresAtMs: 0 }), FAILURE);
          const log = serviceLog("test");
          const chainClock = new ClockComparison(log);
          const upkeep = createUpkeepLoop({ store, clock, chainClock, retainMs: RETAIN_MS, log });
          upkeep.start();
          await clock.untilScheduled();
          await upkeep.stop();
          assert.notEqual(await store.find("old"), undefined);
          assert.deepEqual(records, []);
        })),
  });
}

Deno.test("createUpkeepLoop: a request that was refused before a send is deleted 10 min after its deadline", () =>
  withWorld(async (world) => {
    const upkeep = createUpkeepLoop({ ...world, chainClock: NO_CLOCK, retainMs: 604_800_000 });
    const refuse = async (key: string, lifeMs: number) => {
      const createdAtMs = world.clock.now();
      const times = { createdAtMs, expiresAtMs: createdAtMs + lifeMs };
      await world.store.insertFailed(newIntent(key, times), FAILURE);
    };
    const keys = Array.from({ length: 2_500 }, (_, index) => `key ${index}`);
    await Promise.all(keys.map((key) => refuse(key, 30_000)));
    await refuse("long", 300_000);
    await world.record("unfinished", { signed: false, lifeMs: 30_000 });
    const sent = await world.record("sent", { lifeMs: 30_000 });
    const failure = { code: "DEADLINE_PASSED", message: "Late" };
    const outcome = { state: "failed", receipt: null, failure } as const;
    await world.store.finish(sent, outcome, world.clock.now());
    upkeep.start();
    await world.clock.untilScheduled();
    await pass(world, 630_000);
    assert.equal(await has(world, "key 0"), true, "a copy may still arrive");
    await pass(world, 10_000);
    const { intents: left } = await world.store.listByUser("alice", { limit: 3_000 });
    assert.deepEqual(left.map(({ key }) => key), ["sent", "unfinished", "long"]);
    await pass(world, 270_000);
    assert.equal(await has(world, "long"), false);
    await upkeep.stop();
  }));

Deno.test("createUpkeepLoop: a refused request is deleted although the node was away for longer than 10 min", () => {
  const chainClock = { blockTimeMs: 0 };
  return withUpkeep(
    async (world) => {
      chainClock.blockTimeMs = world.clock.now();
      const expiresAtMs = world.clock.now() + 30_000;
      await world.store.insertFailed(newIntent("a", { expiresAtMs }), { code: "A", message: "A" });
      await pass(world, 900_000);
      assert.equal(await has(world, "a"), true, "the chain's time stands still");
      chainClock.blockTimeMs = world.clock.now();
      await pass(world, 10_000);
      assert.equal(await has(world, "a"), false);
    },
    chainClock,
    DAY_MS,
  );
});

Deno.test("createUpkeepLoop: unfinished intents and reservations are kept", () =>
  withUpkeep(async (world) => {
    await world.record("unfinished", { lifeMs: 0 });
    await world.record("reserved", { lifeMs: 0, reserved: true });
    await world.finish("reserved");
    await pass(world, 10 * RETAIN_MS);
    assert.equal(await has(world, "unfinished"), true);
    assert.equal(await has(world, "reserved"), true);
    await world.store.release("reserved");
    await pass(world, 10_000);
    assert.equal(await has(world, "reserved"), false);
  }));

Deno.test("createUpkeepLoop: many old intents go in small batches over several passes", () =>
  withUpkeep(async (world) => {
    const keys = Array.from({ length: 2_500 }, (_, index) => `key ${index}`);
    await Promise.all(keys.map((key) => world.record(key, { signed: false, lifeMs: 0 })));
    await Promise.all(keys.map((key) => world.finish(key)));
    const deleteFinished = world.store.deleteFinished.bind(world.store);
    let deletions = 0;
    world.store.deleteFinished = (bounds) => {
      deletions += 1;
      return deleteFinished(bounds);
    };
    world.clock.jump(2 * RETAIN_MS);
    await pass(world, 10_000);
    assert.equal(deletions, 10);
    assert.equal((await world.store.listByUser("alice", { limit: 3_000 })).intents.length, 500);
    await pass(world, 10_000);
    assert.equal((await world.store.listByUser("alice", { limit: 3_000 })).intents.length, 0);
  }));

Deno.test("createUpkeepLoop: every row is verified in turn, even if it is never read", () =>
  withUpkeep(async (world) => {
    for (let index = 0; index < 600; index += 1) {
      await world.record(`key ${index}`, { signed: false });
    }
    await world.driver.write("UPDATE intents SET payload = ? WHERE key = ?", ["[]", "key 3"]);
    await world.driver.write("UPDATE intents SET payload = ? WHERE key = ?", ["[]", "key 590"]);
    await pass(world, 10_000);
    assert.equal(world.store.damaged.size, 1);
    await pass(world, 10_000);
    assert.equal(world.store.damaged.size, 2);
    assert.match(world.store.damaged.first?.message ?? "", /^Row key 3 .* its checksum is wrong$/);
  }));

Deno.test("createUpkeepLoop: deletes old intents while rows cannot be read, and verifies rows while none can be deleted", () =>
  withLogs("warning", (records) =>
    withUpkeep(async (world) => {
      await world.record("old", { lifeMs: 0 });
      await world.finish("old");
      const { readPage } = world.store;
      world.store.readPage = () => Promise.reject(new StoreError("locked"));
      await pass(world, 2 * RETAIN_MS);
      assert.equal(await has(world, "old"), false);
      assert.equal(records.length, 1);
      assert.match(String(records[0]?.properties.reason), /locked/);

      world.store.readPage = readPage;
      world.store.deleteFinished = () => Promise.reject(new StoreError("readonly"));
      await world.record("changed", { lifeMs: 0 });
      await world.driver.write("UPDATE intents SET payload = '[]'", []);
      await pass(world, 10_000);
      assert.equal(world.store.damaged.size, 1);
    })));

Deno.test("DamagedRows: each row is logged once, and at most 1,000 are remembered", () =>
  withLogs("warning", (records) => {
    const damaged = new DamagedRows(serviceLog("test"));
    for (let index = 0; index < 1_500; index += 1) {
      for (let times = 0; times < 2; times += 1) damaged.report(rowDamaged(`${index}`, "changed"));
    }
    assert.equal(damaged.size, 1_000);
    assert.equal(records.length, 1_000);
  }));

Deno.test("createUpkeepLoop: a damaged row of another service is left to it, one of no service is an error", () =>
  withLogs("warning", (records) =>
    withUpkeep(async (world) => {
      const other = new IntentStore(world.driver, "other");
      await other.records.update({}); // as every start does
      for (const key of ["kept", "changed", "moved"]) await other.insert(newIntent(key));
      const damage = "UPDATE intents SET payload = '[]', service = ? WHERE key = ?";
      await world.driver.write(damage, ["other", "changed"]);
      const logged = () => records.map(({ level, properties }) => [level, properties.key]);
      await pass(world, 20_000);
      assert.deepEqual(logged(), []);
      assert.equal(world.store.damaged.size, 0);
      await world.driver.write(damage, ["othfr", "moved"]);
      await pass(world, 20_000);
      assert.deepEqual(logged(), [["error", "moved"]]);
      assert.equal(world.store.damaged.size, 1);
    })));
