import assert from "node:assert/strict";
import { HeadWatch } from "../../../services/proxy/hub/head_watch.ts";
import { NEW_HEADS_KEY } from "../../../services/proxy/hub/subscription_request.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const SILENCE_MS = 15_000;

function watched() {
  const clock = new FakeClock();
  const state = { head: 1n, live: true, dropped: [] as string[], reads: 0, fails: false };
  const watch = new HeadWatch({
    clock,
    silenceMs: SILENCE_MS,
    isLive: (key) => state.live && key === NEW_HEADS_KEY,
    readHead: () => {
      state.reads += 1;
      return state.fails ? Promise.reject(new Error("away")) : Promise.resolve(state.head);
    },
    drop: (reason) => state.dropped.push(reason),
  });
  watch.start();
  const notice = (number: number) =>
    watch.noticed(NEW_HEADS_KEY, { params: { result: { number: `0x${number.toString(16)}` } } });
  /** Moves time in steps, letting each check come to its end. */
  const pass = async (totalMs: number) => {
    for (let passedMs = 0; passedMs < totalMs; passedMs += 500) {
      clock.advance(500);
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    }
  };
  return { state, watch, notice, pass };
}

Deno.test("HeadWatch: a node that stops announcing while its chain goes on is dropped", async () => {
  const { state, watch, notice, pass } = watched();
  notice(1);
  state.head = 5n;
  await pass(SILENCE_MS + 2_000);
  assert.equal(state.dropped.length, 1);
  assert.match(state.dropped[0] ?? "", /^no new head for \d+ ms while the chain went on$/);
  watch.stop();
});

Deno.test("HeadWatch: a node that never announced anything is dropped, too", async () => {
  const { state, watch, pass } = watched();
  await pass(SILENCE_MS + 1_000); // learns the head
  state.head = 2n;
  await pass(SILENCE_MS + 2_000);
  assert.equal(state.dropped.length, 1);
  watch.stop();
});

Deno.test("HeadWatch: who announces, rests, is not asked or cannot be read is left alone", async (t) => {
  await t.step("announces", async () => {
    const { state, watch, notice, pass } = watched();
    for (let number = 1; number < 10; number += 1) {
      state.head = BigInt(number);
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
    Object.assign(state, { head: 9n, live: false });
    await pass(5 * SILENCE_MS);
    assert.deepEqual([state.dropped, state.reads], [[], 0]);
    watch.stop();
  });
  await t.step("cannot be read", async () => {
    const { state, watch, notice, pass } = watched();
    notice(1);
    Object.assign(state, { head: 9n, fails: true });
    await pass(5 * SILENCE_MS);
    assert.deepEqual(state.dropped, []);
    watch.stop();
  });
  await t.step("announces just after the look at its head", async () => {
    const { state, watch, notice, pass } = watched();
    notice(1);
    state.head = 2n;
    await pass(SILENCE_MS);
    notice(2);
    await pass(5_000);
    assert.deepEqual(state.dropped, []);
    watch.stop();
  });
  await t.step("was made anew", async () => {
    const { state, watch, notice, pass } = watched();
    notice(100);
    watch.restart();
    state.head = 1n; // a chain that begins again
    await pass(3 * SILENCE_MS);
    assert.deepEqual(state.dropped, []);
    watch.stop();
  });
});
