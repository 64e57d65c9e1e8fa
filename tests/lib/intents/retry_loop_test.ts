import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { StoreError } from "../../../lib/intents/errors.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import { createRetryLoop } from "../../../lib/intents/retry_loop.ts";
import { isSettled } from "../../support/eventually.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { rejectsWith } from "../../support/scripted_node.ts";
import { World } from "./world.ts";

/** More intents than fit into two pages. */
const KEYS = Array.from({ length: 120 }, (_, index) => `key ${index}`);

/** A retry loop with a submitter of the test. */
class Retries extends World {
  readonly retried: string[] = [];
  isNodeLost = false;
  /** Keys of intents that are carried out now, and not by the loop. */
  readonly running = new Set<string>();
  submit = ({ key }: Intent): Promise<Intent> => this.finish(key);
  readonly loop = createRetryLoop(this, { ...this, random: () => 1 });

  isRunning(key: string): boolean {
    return this.running.has(key);
  }

  retry(intent: Intent): Promise<Intent> {
    this.retried.push(intent.key);
    return this.submit(intent);
  }

  /** Holds back attempts at slow intents. @returns What lets them go on. */
  holdBack(isSlow: (key: string) => boolean): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.submit = async ({ key }) => {
      this.running.add(key);
      if (isSlow(key)) await promise;
      this.running.delete(key);
      return await this.finish(key);
    };
    return resolve;
  }

  async recordAll(...keys: string[]): Promise<void> {
    for (const key of keys) await this.record(key, { signed: false });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.loop.stop();
    await super[Symbol.asyncDispose]();
  }

  /** Starts a second after the last record; resolves after the first pass. */
  async start(): Promise<void> {
    this.clock.advance(1_000);
    this.loop.start();
    await this.settled();
  }

  /** Time passes, every pass that falls due with it. */
  async seconds(count: number): Promise<void> {
    for (let second = 0; second < count; second++) {
      this.clock.advance(1_000);
      await this.settled();
    }
  }

  /** Keys that the next pass retries. */
  async nextPass(): Promise<string[]> {
    this.retried.length = 0;
    while (this.clock.pending > 0) this.clock.advance(100);
    await this.settled();
    return this.retried.toSorted();
  }
}

/** Declares a test with a retry loop of its own. */
const test = (name: string, run: (world: Retries) => Promise<void>) =>
  Deno.test(`createRetryLoop: ${name}`, () => withRetries(run));

async function withRetries(test: (world: Retries) => Promise<void>): Promise<void> {
  await using world = new Retries();
  await test(world);
}

test("a start retries every unfinished intent, page by page", async (world) => {
  await world.recordAll(...KEYS);
  await world.start();
  assert.deepEqual(world.retried.toSorted(), KEYS.toSorted());
  assert.equal(await world.store.countUnfinished(), 0);
});

test("failing intents do not block the others", async (world) => {
  await world.recordAll(...KEYS);
  const { submit } = world;
  world.submit = (intent) =>
    Number(intent.key.slice(4)) < 60 ? Promise.reject(new Error("stuck")) : submit(intent);
  await world.start();
  assert.equal(await world.store.countUnfinished(), 60);
  assert.equal((await world.nextPass()).length, 60);
});

test("a slow retry keeps no other one waiting, and fifty are the most at once", async (world) => {
  await world.recordAll("slow");
  const open = world.holdBack((key) => key !== "quick");
  await world.start();
  await world.recordAll("quick");
  await world.seconds(2); // the pass no longer waits for the slow one after the first
  assert.deepEqual(world.retried, ["slow", "quick"]);
  await world.recordAll(...KEYS);
  await world.seconds(5);
  assert.equal(world.retried.length, 51);
  open();
  await world.seconds(5);
  assert.equal(await world.store.countUnfinished(), 0);
});

test("a pass retries every intent, although slow ones leave few places", async (world) => {
  const slow = KEYS.slice(0, 40).map((key) => `slow ${key}`);
  await world.recordAll(...slow);
  const open = world.holdBack((key) => key.startsWith("slow"));
  await world.start();
  await world.recordAll(...KEYS);
  await world.seconds(1); // the first pass no longer waits
  assert.equal((await world.nextPass()).length, KEYS.length);
  open();
});

test("once the node is back, a slow first retry keeps no other one waiting", async (world) => {
  await world.recordAll("slow", "signed");
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  world.isNodeLost = true;
  world.submit = async (intent) => {
    world.isNodeLost = false; // it answers, and then the hedge takes long
    if (intent.key === "slow") await gate;
    return await world.finish(intent.key);
  };
  await world.start();
  await world.seconds(1);
  assert.equal(await world.store.countUnfinished(), 1);
  open();
});

test("no intent waits for others that are being carried out, also while the node is lost", async (world) => {
  await world.recordAll(...KEYS, "lost");
  KEYS.forEach((key) => world.running.add(key));
  world.isNodeLost = true;
  world.submit = rejectsWith(new Error("away"));
  await world.start();
  assert.deepEqual(world.retried, ["lost"]);
  world.submit = (intent) => {
    world.isNodeLost = false;
    return world.finish(intent.key);
  };
  assert.deepEqual(await world.nextPass(), ["lost"]);
  assert.equal(await world.store.countUnfinished(), 120);
});

test("once the node is lost, a pass ends after the current page", async (world) => {
  await world.recordAll(...KEYS);
  world.submit = () => {
    world.isNodeLost = true;
    return Promise.reject(new Error("away"));
  };
  await world.start();
  assert.equal(world.retried.length, 50);
});

/**
 * Runs a test with a function that says how many lines of each level were logged since its last
 * call.
 */
function withLevels(
  test: (world: Retries, levels: () => Record<string, number>) => Promise<void>,
) {
  return withLogs("info", (records) =>
    withRetries((world) => {
      let seen = 0;
      return test(world, () => {
        const counts: Record<string, number> = {};
        for (const { level } of records.slice(seen)) counts[level] = (counts[level] ?? 0) + 1;
        seen = records.length;
        return counts;
      });
    }));
}

Deno.test("createRetryLoop: each result is logged, a failure that goes on once", () =>
  withLevels(async (world, levels) => {
    await world.recordAll("good", "stuck");
    world.submit = (intent) =>
      intent.key === "good" ? world.finish(intent.key) : Promise.reject(new Error("stuck"));
    await world.start();
    assert.deepEqual(levels(), { info: 1, warning: 1 });
    world.isNodeLost = true;
    const [passed, logged] = [await world.nextPass(), levels()];
    assert.deepEqual([passed, logged], [["stuck"], { warning: 1 }], "it is lost");
    assert.deepEqual([await world.nextPass(), levels()], [["stuck"], {}]);
    world.submit = () => {
      world.isNodeLost = false;
      return Promise.reject(new Error("stuck"));
    };
    await world.nextPass();
    assert.deepEqual(levels(), { info: 1 }, "the node answered, and is back");
    world.submit = ({ key }) => world.finish(key);
    await world.nextPass();
    assert.deepEqual(levels(), { info: 1 });
  }));

Deno.test("createRetryLoop: logs each cause of an outage, and that the node is back once no intent is left", () =>
  withLevels(async (world, levels) => {
    await world.recordAll("stuck");
    const { store } = world;
    const works = store.listUnfinished.bind(store);
    store.listUnfinished = rejectsWith(new StoreError("Database failed: locked"));
    await world.start();
    assert.deepEqual(levels(), { error: 1 });
    store.listUnfinished = works;
    world.isNodeLost = true;
    world.submit = rejectsWith(new Error("away"));
    await world.nextPass();
    assert.deepEqual(levels(), { warning: 1 });
    store.listUnfinished = rejectsWith(new StoreError("Database failed: locked"));
    await world.nextPass();
    assert.deepEqual(levels(), { error: 1 });
    store.listUnfinished = works;
    await world.finish("stuck");
    await world.nextPass();
    assert.deepEqual(levels(), { info: 1 });
  }));

test("an intent that changed exactly a second ago is retried, one changed later is not", async (world) => {
  await world.start();
  await world.recordAll("early");
  world.clock.advance(1);
  await world.recordAll("late");
  world.clock.advance(999);
  await world.settled();
  assert.deepEqual(world.retried, ["early"]);
});

test("intents from a time ahead of the clock are retried, also after a failed first pass", async (world) => {
  await world.recordAll("before the start");
  world.clock.setBy(-60_000);
  const works = world.store.listUnfinished.bind(world.store);
  world.store.listUnfinished = rejectsWith(new StoreError("Database failed: locked"));
  await world.start();
  world.store.listUnfinished = works;
  assert.deepEqual(await world.nextPass(), ["before the start"]);
  await world.recordAll("while it runs");
  world.clock.setBy(-60_000);
  assert.deepEqual(await world.nextPass(), ["while it runs"]);
});

test("passes run every second, and back off while the node is lost", async (world) => {
  await world.recordAll("stuck");
  world.submit = rejectsWith(new Error("away"));
  await world.start();
  const waitsMs: number[] = [];
  for (const isNodeLost of [false, false, true, true, true, false, false]) {
    world.isNodeLost = isNodeLost;
    const fromMs = world.clock.now();
    await world.nextPass();
    waitsMs.push(world.clock.now() - fromMs);
  }
  assert.deepEqual(waitsMs, [1_000, 1_000, 1_000, 1_000, 2_000, 2_000, 1_000]);
});

test("while the node is away one intent is tried every 2 s, and all once it is back", async (world) => {
  await world.recordAll(...KEYS);
  world.isNodeLost = true;
  world.submit = rejectsWith(new Error("away"));
  await world.start();
  world.retried.length = 0;
  const leftAtMs = world.clock.now();
  while (world.clock.now() < leftAtMs + 60_000) {
    world.clock.advance(100);
    await world.settled();
  }
  assert.ok(world.retried.length <= 31, `${world.retried.length} attempts in a minute`);
  world.submit = (intent) => {
    world.isNodeLost = false;
    return world.finish(intent.key);
  };
  const backAtMs = world.clock.now();
  await world.nextPass();
  assert.ok(world.clock.now() - backAtMs <= 2_000);
  assert.equal(await world.store.countUnfinished(), 0);
});

test("stop waits for the current page and starts no other", async (world) => {
  const open = world.holdBack(() => true);
  await world.start();
  await world.recordAll(...KEYS);
  world.clock.advance(1_000);
  while (world.retried.length === 0) await setImmediate();
  const stop = world.loop.stop();
  assert.equal(await isSettled(stop), false);
  open();
  await stop;
  assert.equal(world.retried.length, 50);
  assert.equal(await world.store.countUnfinished(), 70);
  assert.equal(world.clock.pending, 0);
});
