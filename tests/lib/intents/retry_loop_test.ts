import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { getLogger } from "@logtape/logtape";
import { LOG_ROOT } from "../../../lib/log/logging.ts";
import { type Intent, StoreError } from "../../../lib/intents/intent.ts";
import { retryLoop } from "../../../lib/intents/retry_loop.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { COMMITTED, newIntent } from "../../support/intents.ts";

class Bench {
  readonly clock = new FakeClock();
  readonly store: IntentStore = new IntentStore(SqliteDriver.open(":memory:"), "test");
  readonly retried: string[] = [];
  nodeLost = false;
  submit = (intent: Intent): Promise<Intent> => {
    return this.store.finish(intent, COMMITTED, this.clock.now());
  };
  readonly loop = retryLoop(this, {
    node: { url: "http://user:SECRET@node" },
    store: {
      listUnfinished: (page) => this.store.listUnfinished(page),
    },
    clock: this.clock,
    random: () => 1,
    log: getLogger([LOG_ROOT, "test"]),
  });

  retry(intent: Intent): Promise<Intent> {
    this.retried.push(intent.key);
    return this.submit(intent);
  }

  async record(...keys: string[]): Promise<void> {
    for (const key of keys) {
      await this.store.insert(newIntent(key, { createdAtMs: this.clock.now() }));
    }
  }

  /** Resolves when the next pass is scheduled. */
  async untilScheduled(): Promise<void> {
    while (this.clock.pending === 0) await setImmediate();
  }

  /** Keys that the next pass retries. */
  async nextPass(): Promise<string[]> {
    this.retried.length = 0;
    while (this.clock.pending > 0) this.clock.advance(100);
    await this.untilScheduled();
    return this.retried.toSorted();
  }
}

async function withBench(test: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = new Bench();
  try {
    await test(bench);
  } finally {
    await bench.loop.stop();
    await bench.store.close();
  }
}

Deno.test("retryLoop: a start retries every unfinished intent, page by page", () =>
  withBench(async (bench) => {
    const keys = Array.from({ length: 120 }, (_, index) => `key ${index}`);
    await bench.record(...keys);
    bench.loop.start();
    await bench.untilScheduled();
    assert.deepEqual(bench.retried.toSorted(), keys.toSorted());
    assert.equal(await bench.store.countUnfinished(), 0);
  }));

Deno.test("retryLoop: intents that fail do not block the others", () =>
  withBench(async (bench) => {
    const keys = Array.from({ length: 120 }, (_, index) => `key ${index}`);
    await bench.record(...keys);
    const { submit } = bench;
    bench.submit = (intent) =>
      Number(intent.key.slice(4)) < 60 ? Promise.reject(new Error("stuck")) : submit(intent);
    bench.loop.start();
    await bench.untilScheduled();
    assert.equal(await bench.store.countUnfinished(), 60);
    assert.equal((await bench.nextPass()).length, 60);
  }));

Deno.test("retryLoop: a pass ends with its page once the node is lost", () =>
  withBench(async (bench) => {
    await bench.record(...Array.from({ length: 120 }, (_, index) => `key ${index}`));
    bench.submit = () => {
      bench.nodeLost = true;
      return Promise.reject(new Error("away"));
    };
    bench.loop.start();
    await bench.untilScheduled();
    assert.equal(bench.retried.length, 50);
  }));

/** Runs a test with a function that says how many lines of each level were logged since its last call. */
function withLevels(test: (bench: Bench, levels: () => Record<string, number>) => Promise<void>) {
  return withLogs("info", (records) =>
    withBench((bench) => {
      let seen = 0;
      return test(bench, () => {
        const counts: Record<string, number> = {};
        for (const { level } of records.slice(seen)) counts[level] = (counts[level] ?? 0) + 1;
        seen = records.length;
        return counts;
      });
    }));
}

Deno.test("retryLoop: a store that cannot be read is logged once, and again after it could be read", () =>
  withLevels(async (bench, levels) => {
    const works = bench.store.listUnfinished.bind(bench.store);
    const fails = () => Promise.reject(new StoreError("Database failed: locked"));
    bench.store.listUnfinished = fails;
    bench.loop.start();
    await bench.untilScheduled();
    assert.deepEqual(levels(), { error: 1 });
    await bench.record("one");
    const passes = [[fails, {}, []], [works, { info: 1 }, ["one"]], [
      fails,
      { error: 1 },
      [],
    ]] as const;
    for (const [read, expected, retried] of passes) {
      bench.store.listUnfinished = read;
      assert.deepEqual(await bench.nextPass(), retried);
      assert.deepEqual(levels(), expected);
    }
  }));

Deno.test("retryLoop: each retry is logged with its result, but not those of a node that stays away", () =>
  withLevels(async (bench, levels) => {
    await bench.record("good", "stuck");
    const { submit } = bench;
    bench.submit = (intent) =>
      intent.key === "good" ? submit(intent) : Promise.reject(new Error("stuck"));
    bench.loop.start();
    await bench.untilScheduled();
    assert.deepEqual(levels(), { info: 1, warning: 1 });
    bench.nodeLost = true;
    assert.deepEqual([await bench.nextPass(), levels()], [["stuck"], { warning: 1 }], "it is lost");
    assert.deepEqual([await bench.nextPass(), levels()], [["stuck"], {}]);
    bench.submit = () => {
      bench.nodeLost = false;
      return Promise.reject(new Error("stuck"));
    };
    await bench.nextPass();
    assert.deepEqual(levels(), { warning: 1, info: 1 }, "the node answered, and is back");
  }));

Deno.test("retryLoop: an intent that changed exactly a second ago is retried, one changed later is not", () =>
  withBench(async (bench) => {
    bench.loop.start();
    await bench.untilScheduled();
    await bench.record("early");
    bench.clock.advance(1);
    await bench.record("late");
    bench.clock.advance(999);
    await bench.untilScheduled();
    assert.deepEqual(bench.retried, ["early"]);
  }));

Deno.test("retryLoop: passes come every second, back off while the node is lost, and come every second again", () =>
  withBench(async (bench) => {
    bench.loop.start();
    await bench.untilScheduled();
    const waitsMs: number[] = [];
    for (const nodeLost of [false, false, true, true, true, false, false]) {
      bench.nodeLost = nodeLost;
      const fromMs = bench.clock.now();
      await bench.nextPass();
      waitsMs.push(bench.clock.now() - fromMs);
    }
    assert.deepEqual(waitsMs, [1_000, 1_000, 1_000, 1_000, 2_000, 2_000, 1_000]);
  }));

Deno.test("retryLoop: a node that is away gets one intent every 2 s, and all within 2 s of its return", () =>
  withBench(async (bench) => {
    const keys = Array.from({ length: 120 }, (_, index) => `key ${index}`);
    await bench.record(...keys);
    const { submit } = bench;
    bench.nodeLost = true;
    bench.submit = () => Promise.reject(new Error("away"));
    bench.loop.start();
    await bench.untilScheduled();
    bench.retried.length = 0;
    const leftAtMs = bench.clock.now();
    while (bench.clock.now() < leftAtMs + 60_000) {
      bench.clock.advance(100);
      await bench.untilScheduled();
    }
    assert.ok(bench.retried.length <= 31, `${bench.retried.length} attempts in a minute`);
    bench.submit = (intent) => {
      bench.nodeLost = false;
      return submit(intent);
    };
    const backAtMs = bench.clock.now();
    await bench.nextPass();
    assert.ok(bench.clock.now() - backAtMs <= 2_000);
    assert.equal(await bench.store.countUnfinished(), 0);
  }));

for (const which of ["first", "later"] as const) {
  Deno.test(`RetryLoop: a stop waits for the page of a ${which} pass and starts no other`, () =>
    withBench(async (bench) => {
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      const { submit } = bench;
      bench.submit = async (intent) => {
        await gate;
        return await submit(intent);
      };
      const keys = Array.from({ length: 120 }, (_, index) => `key ${index}`);
      if (which === "first") await bench.record(...keys);
      bench.loop.start();
      if (which === "later") {
        await bench.untilScheduled();
        await bench.record(...keys);
        bench.clock.advance(1_000);
      }
      while (bench.retried.length === 0) await setImmediate();
      let stopped = false;
      const stop = bench.loop.stop().then(() => stopped = true);
      for (let turn = 0; turn < 10; turn += 1) await setImmediate();
      assert.equal(stopped, false);
      open();
      await stop;
      assert.equal(bench.retried.length, 50);
      assert.equal(await bench.store.countUnfinished(), 70);
      assert.equal(bench.clock.pending, 0);
    }));
}
