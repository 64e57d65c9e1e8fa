import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { configure, getLogger, type LogRecord, reset } from "@logtape/logtape";
import { ChainMismatchError } from "../../../lib/intents/chain_guard.ts";
import { StoreError } from "../../../lib/intents/intent.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { StoreHealth } from "../../../lib/intents/store_health.ts";
import { NodeUnreachableError } from "../../../lib/net/core_client.ts";
import { FakeClock } from "../../support/fake_clock.ts";

interface World {
  health: StoreHealth;
  store: IntentStore;
  clock: FakeClock;
  /** Levels and messages of the log. */
  lines: string[];
  guard: { require(): Promise<void> };
}

/** A store whose file has room for a few pages. */
async function withHealth(test: (world: World) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  const lines: string[] = [];
  const sink = ({ level, properties, rawMessage }: LogRecord) =>
    void lines.push(`${level}: ${properties.code ?? rawMessage}`);
  await configure({
    sinks: { sink },
    loggers: [
      { category: "test", sinks: ["sink"] },
      { category: ["logtape", "meta"], sinks: [] },
    ],
  });
  const store = new IntentStore(SqliteDriver.open(`${folder}/store.sqlite`, 40), "test");
  const clock = new FakeClock();
  const guard = { require: () => Promise.resolve() };
  const log = getLogger("test");
  const health = new StoreHealth({
    store,
    guard: { require: () => guard.require() },
    clock,
    log,
  });
  try {
    await test({ health, store, clock, lines, guard });
  } finally {
    await health.stop();
    await store.close();
    await reset();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Writes until there is no more room. */
async function fill(store: IntentStore): Promise<void> {
  const payload = "x".repeat(10_000);
  const rest = { subject: "s", payload, transaction: null, expiresAtMs: 1, createdAtMs: 1 };
  try {
    for (let index = 0;; index += 1) await store.insert({ key: `${index}`, ...rest });
  } catch (thrown) {
    assert.ok(thrown instanceof StoreError);
  }
}

Deno.test("StoreHealth: a full disk is named, without a path, and logged once", () =>
  withHealth(async ({ health, store, clock, lines }) => {
    assert.equal(await health.problem(), undefined);
    await fill(store);
    store.check = () =>
      store.insert({
        ...{ key: "one more", subject: "s", payload: "x".repeat(10_000), transaction: null },
        ...{ expiresAtMs: 1, createdAtMs: 1 },
      }).then(() => {});
    for (let turn = 0; turn < 3; turn += 1) {
      clock.advance(1_000);
      const { code, message } = await health.problem() ?? assert.fail("The disk is full");
      assert.equal(code, "STORE_UNAVAILABLE");
      assert.equal(message, "Database failed: database or disk is full");
    }
    store.check = () => Promise.resolve();
    clock.advance(1_000);
    assert.equal(await health.problem(), undefined);
    assert.deepEqual(lines, ["error: STORE_UNAVAILABLE", "info: The store can be used again"]);
  }));

Deno.test("StoreHealth: another chain is a failure, a node that is away is none", () =>
  withHealth(async ({ health, clock, guard }) => {
    const hash = `0x${"01".repeat(32)}` as const;
    guard.require = () => Promise.reject(new ChainMismatchError("http://node", null, hash));
    assert.equal((await health.problem())?.code, "CHAIN_MISMATCH");
    guard.require = () => Promise.reject(new NodeUnreachableError("http://node", "test"));
    clock.advance(1_000);
    assert.equal(await health.problem(), undefined);
  }));

Deno.test("StoreHealth: a failure is logged though nobody asks, and checked once a second at most", () =>
  withHealth(async ({ health, store, clock, lines }) => {
    let checks = 0;
    store.check = () => {
      checks += 1;
      return checks === 1 ? Promise.resolve() : Promise.reject(new StoreError("disk I/O error"));
    };
    health.start();
    await Promise.all([health.problem(), health.problem()]);
    assert.equal(checks, 1);
    while (clock.pending === 0) await setImmediate();
    clock.advance(5_000);
    while (lines.length === 0) await setImmediate();
    assert.deepEqual(lines, ["error: STORE_UNAVAILABLE"]);
  }));
