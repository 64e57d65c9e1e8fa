import assert from "node:assert/strict";
import { rowDamaged, StoreError } from "../../../lib/intents/intent.ts";
import { DamagedRows } from "../../../lib/intents/service_store.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { upkeepLoop } from "../../../lib/intents/upkeep.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { COMMITTED, newIntent } from "../../support/intents.ts";
import { withLogs } from "../../support/recorded_logs.ts";

const RETAIN_MS = 60_000;

class World {
  readonly clock = new FakeClock();
  readonly log = serviceLog("test");
  readonly driver = SqliteDriver.open(":memory:");
  readonly store: IntentStore = new IntentStore(this.driver, "test");
  deletions = 0;
  isUnreadable = false;
  isReadOnly = false;
  readonly upkeep = upkeepLoop({
    store: {
      damaged: this.store.damaged,
      page: (after, limit) =>
        this.isUnreadable
          ? Promise.reject(new StoreError("locked"))
          : this.store.page(after, limit),
      deleteFinished: async (given) => {
        if (this.isReadOnly) throw new StoreError("readonly");
        const deleted = await this.store.deleteFinished(given);
        this.deletions += 1;
        return deleted;
      },
    },
    retainMs: RETAIN_MS,
    clock: this.clock,
    log: this.log,
  });

  async record(key: string, lifeMs: number, reserves = false): Promise<void> {
    const nowMs = this.clock.now();
    const intent = newIntent(key, { expiresAtMs: nowMs + lifeMs, createdAtMs: nowMs });
    await this.store.insert(intent, { reserves });
  }

  async finish(key: string): Promise<void> {
    const intent = await this.store.find(key) ?? assert.fail(key);
    await this.store.finish(intent, COMMITTED, this.clock.now());
  }

  async has(key: string): Promise<boolean> {
    return await this.store.find(key) !== undefined;
  }

  /** Lets time pass, every pass that falls due with it. */
  async pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += 10_000) {
      this.clock.advance(10_000);
      await this.clock.untilScheduled();
    }
  }
}

async function withWorld(test: (world: World) => Promise<void>): Promise<void> {
  const world = new World();
  try {
    world.upkeep.start();
    await world.clock.untilScheduled();
    await test(world);
  } finally {
    await world.upkeep.stop();
    await world.store.close();
  }
}

Deno.test("Upkeep: a finished intent is deleted when both its end and its deadline are over the retention time ago", () =>
  withWorld(async (world) => {
    await world.record("short", 1_000);
    await world.record("long", 600_000);
    await world.record("late", 1_000);
    await world.finish("short");
    await world.finish("long");
    await world.pass(RETAIN_MS);
    await world.finish("late");
    assert.equal(await world.has("short"), true);
    await world.pass(20_000);
    assert.equal(await world.has("short"), false);
    assert.equal(await world.has("late"), true, "its outcome is new, though its deadline is old");
    // Until then the request could be sent again.
    assert.equal(await world.has("long"), true);
    await world.pass(600_000);
    assert.equal(await world.has("long"), false);
  }));

Deno.test("Upkeep: unfinished intents and reservations are kept", () =>
  withWorld(async (world) => {
    await world.record("unfinished", 0);
    await world.record("reserved", 0, true);
    await world.finish("reserved");
    await world.pass(10 * RETAIN_MS);
    assert.equal(await world.has("unfinished"), true);
    assert.equal(await world.has("reserved"), true);
    await world.store.release("reserved");
    await world.pass(10_000);
    assert.equal(await world.has("reserved"), false);
  }));

Deno.test("Upkeep: many old intents go in small batches over several passes", () =>
  withWorld(async (world) => {
    const keys = Array.from({ length: 2_500 }, (_, index) => `key ${index}`);
    await Promise.all(keys.map((key) => world.record(key, 0)));
    await Promise.all(keys.map((key) => world.finish(key)));
    world.clock.jump(2 * RETAIN_MS);
    await world.pass(10_000);
    assert.equal(world.deletions, 11, "one before there was anything");
    assert.equal((await world.store.listBySubject("alice", { limit: 3_000 })).length, 500);
    await world.pass(10_000);
    assert.equal((await world.store.listBySubject("alice", { limit: 3_000 })).length, 0);
  }));

Deno.test("Upkeep: every row is verified in turn, even if it is never read", () =>
  withWorld(async (world) => {
    for (let index = 0; index < 600; index += 1) await world.record(`key ${index}`, 0);
    await world.driver.write("UPDATE intents SET payload = ? WHERE key = ?", ["[]", "key 3"]);
    await world.driver.write("UPDATE intents SET payload = ? WHERE key = ?", ["[]", "key 590"]);
    await world.pass(10_000);
    assert.equal(world.store.damaged.size, 1);
    await world.pass(10_000);
    assert.equal(world.store.damaged.size, 2);
    assert.match(world.store.damaged.first?.message ?? "", /^Row key 3 .* its checksum is wrong$/);
  }));

Deno.test("Upkeep: old intents are deleted while rows cannot be read, and rows verified while none can be deleted", () =>
  withLogs("warning", (records) =>
    withWorld(async (world) => {
      await world.record("old", 0);
      await world.finish("old");
      world.isUnreadable = true;
      await world.pass(2 * RETAIN_MS);
      assert.equal(await world.has("old"), false);
      assert.equal(records.length, 1);
      assert.match(String(records[0]?.properties.reason), /locked/);

      world.isUnreadable = false;
      world.isReadOnly = true;
      await world.record("changed", 0);
      await world.driver.write("UPDATE intents SET payload = '[]'", []);
      await world.pass(10_000);
      assert.equal(world.store.damaged.size, 1);
    })));

Deno.test("DamagedRows: each row is logged once, and at most 1,000 are remembered", () =>
  withLogs("warning", (records) => {
    const damaged = new DamagedRows(serviceLog("test"));
    for (let index = 0; index < 1_500; index += 1) {
      for (let times = 0; times < 2; times += 1) damaged.report(rowDamaged(`${index}`, "changed"));
      damaged.reportOfOther(rowDamaged(`${index}`, "changed"));
    }
    assert.equal(damaged.size, 1_000);
    assert.equal(records.length, 2_000);
    return Promise.resolve();
  }));

Deno.test("Upkeep: a damaged row of another service is a warning, one of no service is an error", () =>
  withLogs("warning", (records) =>
    withWorld(async (world) => {
      const other = new IntentStore(world.driver, "other");
      await other.updateRecord(); // as every start does
      for (const key of ["kept", "changed", "moved"]) await other.insert(newIntent(key));
      const damage = "UPDATE intents SET payload = '[]', service = ? WHERE key = ?";
      await world.driver.write(damage, ["other", "changed"]);
      const logged = () => records.map(({ level, properties }) => [level, properties.key]);
      await world.pass(20_000);
      assert.deepEqual(logged(), [["warning", "changed"]]);
      assert.equal(world.store.damaged.size, 0);
      await world.driver.write(damage, ["othfr", "moved"]);
      await world.pass(20_000);
      assert.deepEqual(logged(), [["warning", "changed"], ["error", "moved"]]);
      assert.equal(world.store.damaged.size, 1);
    })));
