import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { type Intent, type IntentStore, StoreError } from "../../lib/store/intent.ts";
import { SqliteIntentStore } from "../../lib/store/sqlite.ts";
import { Sweeper } from "../../lib/sweeper.ts";
import { FakeClock } from "../support/fake_clock.ts";

class Bench {
  readonly clock = new FakeClock();
  readonly store: IntentStore = SqliteIntentStore.open(":memory:", "test");
  readonly tried: string[] = [];
  nodeLost = false;
  submit = (intent: Intent): Promise<Intent> => {
    const outcome = { state: "committed", receipt: null, failure: null } as const;
    return this.store.finish(intent, outcome, this.clock.now());
  };
  readonly sweeper = new Sweeper({
    store: {
      listUnfinished: (page) => this.store.listUnfinished(page),
    },
    clock: this.clock,
    random: () => 1,
    submit: (intent) => {
      this.tried.push(intent.key);
      return this.submit(intent);
    },
    nodeLost: () => this.nodeLost,
  });

  async record(...keys: string[]): Promise<void> {
    for (const key of keys) {
      await this.store.insert({
        key,
        subject: "s",
        payload: "{}",
        transaction: null,
        expiresAtMs: this.clock.now() + 60_000,
        createdAtMs: this.clock.now(),
      });
    }
  }

  /** Resolves when the sweeper sleeps until its next look. */
  async untilAsleep(): Promise<void> {
    while (this.clock.pending === 0) await setImmediate();
  }

  /** What the next look tries. */
  async nextLook(): Promise<string[]> {
    this.tried.length = 0;
    while (this.clock.pending > 0) this.clock.advance(100);
    await this.untilAsleep();
    return this.tried.toSorted();
  }
}

async function withBench(test: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = new Bench();
  try {
    await test(bench);
  } finally {
    await bench.sweeper.stop();
    await bench.store.close();
  }
}

Deno.test("Sweeper: a start takes up every unfinished intent, however many pages they fill", () =>
  withBench(async (bench) => {
    const keys = Array.from({ length: 120 }, (_, index) => `key ${index}`);
    await bench.record(...keys);
    bench.sweeper.start();
    await bench.untilAsleep();
    assert.deepEqual(bench.tried.toSorted(), keys.toSorted());
    assert.equal(await bench.store.countUnfinished(), 0);
  }));

Deno.test("Sweeper: intents that fail keep none of the others from being tried", () =>
  withBench(async (bench) => {
    const keys = Array.from({ length: 120 }, (_, index) => `key ${index}`);
    await bench.record(...keys);
    const { submit } = bench;
    bench.submit = (intent) =>
      Number(intent.key.slice(4)) < 60 ? Promise.reject(new Error("stuck")) : submit(intent);
    bench.sweeper.start();
    await bench.untilAsleep();
    assert.equal(await bench.store.countUnfinished(), 60);
    assert.equal((await bench.nextLook()).length, 60);
  }));

Deno.test("Sweeper: later looks leave alone what was touched within the last second", () =>
  withBench(async (bench) => {
    bench.sweeper.start();
    await bench.untilAsleep();
    await bench.record("early");
    bench.clock.advance(900);
    await bench.record("late");
    assert.deepEqual(await bench.nextLook(), ["early"]);
    assert.deepEqual(await bench.nextLook(), ["late"]);
  }));

Deno.test("Sweeper: with the node lost a sweep ends with its page", () =>
  withBench(async (bench) => {
    await bench.record(...Array.from({ length: 120 }, (_, index) => `key ${index}`));
    bench.submit = () => {
      bench.nodeLost = true;
      return Promise.reject(new Error("away"));
    };
    bench.sweeper.start();
    await bench.untilAsleep();
    assert.equal(bench.tried.length, 50);
  }));

Deno.test("Sweeper: a store that cannot be read is asked again", () =>
  withBench(async (bench) => {
    await bench.record("one");
    const listUnfinished = bench.store.listUnfinished.bind(bench.store);
    bench.store.listUnfinished = () => Promise.reject(new StoreError("Database failed: locked"));
    bench.sweeper.start();
    await bench.untilAsleep();
    assert.deepEqual(bench.tried, []);
    bench.store.listUnfinished = listUnfinished;
    assert.deepEqual(await bench.nextLook(), ["one"]);
  }));

Deno.test("Sweeper: stopped, it takes up nothing more", () =>
  withBench(async (bench) => {
    bench.sweeper.start();
    await bench.untilAsleep();
    await bench.sweeper.stop();
    assert.equal(bench.clock.pending, 0);
    await bench.record("one");
    bench.clock.advance(60_000);
    assert.deepEqual(bench.tried, []);
  }));

Deno.test("Sweeper: what was touched exactly a second ago is taken up, and not a moment sooner", () =>
  withBench(async (bench) => {
    bench.sweeper.start();
    await bench.untilAsleep();
    await bench.record("early");
    bench.clock.advance(1);
    await bench.record("late");
    bench.clock.advance(999);
    await bench.untilAsleep();
    assert.deepEqual(bench.tried, ["early"]);
  }));

Deno.test("Sweeper: the looks come every second, rarer while the node is lost, and every second again", () =>
  withBench(async (bench) => {
    bench.sweeper.start();
    await bench.untilAsleep();
    const waitsMs: number[] = [];
    for (const nodeLost of [false, false, true, true, true, false, false]) {
      bench.nodeLost = nodeLost;
      const fromMs = bench.clock.now();
      await bench.nextLook();
      waitsMs.push(bench.clock.now() - fromMs);
    }
    assert.deepEqual(waitsMs, [1_000, 1_000, 1_000, 2_000, 4_000, 8_000, 1_000]);
  }));

for (const which of ["first", "later"] as const) {
  Deno.test(`Sweeper: a stop waits for the page of a ${which} look, and begins nothing more`, () =>
    withBench(async (bench) => {
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      const { submit } = bench;
      bench.submit = async (intent) => {
        await gate;
        return await submit(intent);
      };
      const keys = Array.from({ length: 120 }, (_, index) => `key ${index}`);
      if (which === "first") await bench.record(...keys);
      bench.sweeper.start();
      if (which === "later") {
        await bench.untilAsleep();
        await bench.record(...keys);
        bench.clock.advance(1_000);
      }
      while (bench.tried.length === 0) await setImmediate();
      let stopped = false;
      const stop = bench.sweeper.stop().then(() => stopped = true);
      for (let turn = 0; turn < 10; turn += 1) await setImmediate();
      assert.equal(stopped, false);
      open();
      await stop;
      assert.equal(bench.tried.length, 50);
      assert.equal(await bench.store.countUnfinished(), 70);
      assert.equal(bench.clock.pending, 0);
    }));
}
