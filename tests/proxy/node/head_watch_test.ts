import assert from "node:assert/strict";
import { headOf } from "../../../services/proxy/node/head.ts";
import { HeadWatch } from "../../../services/proxy/node/head_watch.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const SILENCE_MS = 15_000;

/** Lets a check that has what it needs come to its end. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

function watched(silenceMs = SILENCE_MS) {
  const clock = new FakeClock();
  const state = {
    head: 1,
    live: true,
    dropped: [] as string[],
    reads: 0,
    fails: false,
    answered: Promise.resolve(),
  };
  const watch = new HeadWatch({
    clock,
    silenceMs,
    isSubscribed: () => state.live,
    readHead: () => {
      state.reads += 1;
      if (state.fails) return Promise.reject(new Error("away"));
      const { head } = state; // as the node sees it when it is asked
      return state.answered.then(() => head);
    },
    drop: (reason) => state.dropped.push(reason),
  });
  watch.start();
  const notice = (number: number) => watch.announced({ number, timestampS: 0 });
  /** Moves time in steps, letting each check come to its end. */
  const pass = async (totalMs: number) => {
    for (let passedMs = 0; passedMs < totalMs; passedMs += 500) {
      clock.advance(500);
      await settled();
    }
  };
  return { clock, state, watch, notice, pass };
}

Deno.test("HeadWatch: drops a node that announces no heads while its chain grows", async () => {
  const { state, watch, notice, pass } = watched();
  notice(1);
  state.head = 5;
  await pass(SILENCE_MS + 2_000);
  assert.equal(state.dropped.length, 1);
  assert.match(state.dropped[0] ?? "", /^no new head for \d+ ms while the chain went on$/);
  watch.stop();
});

Deno.test("HeadWatch: drops a node that never announced a head while its chain grows", async () => {
  const { state, watch, pass } = watched();
  await pass(SILENCE_MS + 1_000); // learns the head
  state.head = 2;
  await pass(SILENCE_MS + 2_000);
  assert.equal(state.dropped.length, 1);
  watch.stop();
});

Deno.test("HeadWatch: keeps a node that announces, is idle, has no newHeads, or cannot be read", async (t) => {
  await t.step("announces", async () => {
    const { state, watch, notice, pass } = watched();
    for (let number = 1; number < 10; number += 1) {
      state.head = number;
      notice(number);
      await pass(SILENCE_MS / 2);
    }
    assert.deepEqual([state.dropped, state.reads], [[], 0]);
    watch.stop();
  });
  await t.step("rests", async () => {
    const { state, watch, notice, pass } = watched();
    notice(1);
    await pass(10 * SILENCE_MS);
    assert.deepEqual(state.dropped, []);
    assert(state.reads > 5);
    watch.stop();
  });
  await t.step("is not asked for heads", async () => {
    const { state, watch, notice, pass } = watched();
    notice(1);
    Object.assign(state, { head: 9, live: false });
    await pass(5 * SILENCE_MS);
    assert.deepEqual([state.dropped, state.reads], [[], 0]);
    watch.stop();
  });
  await t.step("cannot be read", async () => {
    const { state, watch, notice, pass } = watched();
    notice(1);
    Object.assign(state, { head: 9, fails: true });
    await pass(5 * SILENCE_MS);
    assert.deepEqual(state.dropped, []);
    watch.stop();
  });
  await t.step("announces just after the look at its head", async () => {
    const { state, watch, notice, pass } = watched();
    notice(1);
    state.head = 2;
    await pass(SILENCE_MS);
    notice(2);
    await pass(5_000);
    assert.deepEqual(state.dropped, []);
    watch.stop();
  });
  await t.step("announces while it is under suspicion, and then rests", async () => {
    const { state, watch, notice, pass } = watched(500);
    notice(1);
    state.head = 2;
    await pass(500);
    assert.equal(state.reads, 1);
    notice(2);
    await pass(5_000);
    assert.deepEqual(state.dropped, []);
    watch.stop();
  });
  await t.step("announces something that is no head", async () => {
    const { state, watch, notice, pass } = watched();
    notice(2);
    state.head = 2;
    watch.announced(undefined);
    await pass(3 * SILENCE_MS);
    assert.deepEqual(state.dropped, []);
    watch.stop();
  });
  await t.step("was made anew", async () => {
    const { state, watch, notice, pass } = watched();
    notice(100);
    watch.restart();
    state.head = 1; // a chain that begins again
    await pass(3 * SILENCE_MS);
    assert.deepEqual(state.dropped, []);
    watch.stop();
  });
  await t.step("was made anew while the one before it was read", async () => {
    const { state, watch, pass } = watched();
    const { promise, resolve } = Promise.withResolvers<void>();
    state.answered = promise;
    await pass(SILENCE_MS + 500);
    assert.equal(state.reads, 1);
    watch.restart();
    state.head = 100; // the new one is further on, and rests there
    resolve();
    await pass(5 * SILENCE_MS);
    assert.deepEqual(state.dropped, []);
    watch.stop();
  });
});

Deno.test("HeadWatch: waits for the whole silence, then one second more", async () => {
  const { clock, state, watch, notice, pass } = watched();
  notice(1);
  state.head = 2;
  await pass(SILENCE_MS - 500);
  clock.advance(499);
  assert.equal(state.reads, 0, "not yet");
  clock.advance(1);
  assert.equal(state.reads, 1, "now");
  await settled();
  clock.advance(999);
  assert.deepEqual(state.dropped, []);
  clock.advance(1);
  assert.deepEqual(state.dropped, ["no new head for 16000 ms while the chain went on"]);
  watch.stop();
});

Deno.test("HeadWatch: reads nothing after stop, even during a read", async () => {
  const { clock, state, watch, pass } = watched();
  const { promise, resolve } = Promise.withResolvers<void>();
  state.answered = promise;
  await pass(SILENCE_MS);
  assert.equal(state.reads, 1);
  watch.stop();
  resolve();
  await pass(2 * SILENCE_MS);
  assert.deepEqual([state.reads, clock.pending], [1, 0]);
});

Deno.test("headOf: reads number and timestamp of a head, undefined for anything else", () => {
  assert.deepEqual(headOf({ number: "0xA", timestamp: "0x6921a1b3", more: 1 }), {
    number: 10,
    timestampS: 0x6921a1b3,
  });
  for (const timestamp of [undefined, 7, "now", "0x"]) {
    assert.deepEqual(headOf({ number: "0x0", timestamp }), { number: 0, timestampS: 0 });
  }
  for (
    const number of [
      undefined,
      null,
      10,
      "10",
      "0x",
      "0xg",
      "0x1 ",
      " 0x1",
      `0x${"1".repeat(17)}`,
      {},
    ]
  ) {
    assert.equal(headOf({ number }), undefined);
  }
  for (const block of [undefined, null, "0x1", 7, []]) assert.equal(headOf(block), undefined);
});
