import assert from "node:assert/strict";
import { CheckpointLoop, CLOCK_AHEAD_WAIT_MS } from "../../../services/node/chain/checkpoints.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { withSteppedNode } from "../support/stepped_node.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { isSettled, settled } from "../../support/eventually.ts";

/** A loop whose checkpoints are recorded; `lastMs` is the last one before a restart. */
function startLoop(
  pull: (clock: FakeClock) => void | Promise<void> = () => {},
  lastMs?: number,
) {
  const clock = new FakeClock(30); // its monotonic one counts from the start of a process
  clock.setBy(1_700_000_000_000);
  const seals: [dueMs: number, lateMs: number][] = [];
  const missed: [fromMs: number, toMs: number][] = [];
  const behind: number[] = [];
  const ahead: number[] = [];
  let pulls = 0;
  const loop = new CheckpointLoop(clock, clock.monotonic, {
    pull() {
      pulls += 1;
      return Promise.resolve(pull(clock));
    },
    seal: (dueMs, lateMs) => seals.push([dueMs, lateMs]),
    onMissed: (fromMs, toMs) => missed.push([fromMs, toMs]),
    onClockBehind: (byMs) => behind.push(byMs),
    onClockAhead: (byMs) => ahead.push(byMs),
  });
  loop.start(lastMs);
  return { clock, loop, seals, missed, behind, ahead, pulls: () => pulls };
}

/** Moves the clock in small steps, so that promises settle in between. */
async function advance(clock: FakeClock, byMs: number, stepMs = 10): Promise<void> {
  for (let doneMs = 0; doneMs < byMs; doneMs += 10) {
    clock.advance(stepMs);
    await settled();
  }
}

Deno.test("price oracle spec, Limits: a checkpoint every 100 ms, the hundredth 9.9 s after the first", async () => {
  const { clock, seals, pulls } = startLoop();
  await advance(clock, 10_000);
  assert.equal(seals.length, 100);
  assert.equal(pulls(), 100);
  assert.equal(seals[0]?.[0], 1_700_000_000_100);
  assert.equal(seals[99]?.[0], 1_700_000_000_100 + 9_900);
});

Deno.test("CheckpointLoop: after a short delay the checkpoints are made up, without pulling prices", async () => {
  const { clock, seals, missed, pulls } = startLoop();
  await advance(clock, 80);
  clock.jump(550);
  await advance(clock, 60);
  const made = seals.slice(1, 6).map(([dueMs]) => dueMs - 1_700_000_000_000);
  assert.deepEqual(made, [200, 300, 400, 500, 600]);
  assert.deepEqual(missed, []);
  assert.ok(pulls() < seals.length, "the late ones did not pull");
});

async function healthOf(url: string): Promise<{ status: string; error?: string; oracle: string }> {
  return await (await fetch(`${url}/health`)).json();
}

Deno.test("Node: with the clock set forward it is degraded and waits; set back, it continues", () =>
  withLogs("info", (records) =>
    withSteppedNode(async ({ stepped, clock, node }) => {
      clock.setBy(3_600_000.326);
      clock.advance(1_000);
      assert.deepEqual(Object.entries(await healthOf(node.url)).slice(0, 3), [
        ["status", "degraded"],
        ["error", "The clock was set forward by 3600000 ms"],
        ["blockNumber", 1],
      ]);
      clock.advance(2_000);
      clock.setBy(-3_600_000.326);
      await stepped.run(1);
      assert.equal((await healthOf(node.url)).status, "healthy");
      const lines = records.map(({ message }) => message.join(""));
      assert.deepEqual(
        lines.filter((line) => /clock was set/.test(line)).map((s) =>
          s.replace(/ (block|from).*/, "")
        ),
        [
          "The clock was set forward by 3600000 ms: no",
          "The clock was set forward: missed 3000 ms of checkpoints",
        ],
      );
    })));

Deno.test("Node: with the clock set back by an hour, known prices become stale after 3 s; set right, it names the cause", () =>
  withLogs("info", (records) =>
    withSteppedNode(async ({ stepped, clock, node }) => {
      await stepped.run(1);
      clock.setBy(-3_600_000);
      clock.advance(2_000);
      assert.equal((await healthOf(node.url)).oracle, "fresh");
      clock.advance(3_000);
      assert.equal((await healthOf(node.url)).oracle, "stale");
      clock.setBy(3_600_000);
      await stepped.run(1);
      const lines = records.map(({ message }) => message.join(""));
      assert(lines.some((line) => /^The clock was set back: missed \d+ ms/.test(line)), `${lines}`);
    })));

Deno.test("CheckpointLoop: makes no checkpoint after it was stopped", async () => {
  const { clock, loop, seals } = startLoop();
  await advance(clock, 200);
  await loop.stop();
  const made = seals.length;
  await advance(clock, 500);
  assert.equal(seals.length, made);
  assert.equal(clock.pending, 0);
});

Deno.test("CheckpointLoop: after a restart with the clock set back, it waits for the time of the last checkpoint", async () => {
  const lastMs = 1_700_000_005_000;
  const { clock, seals, missed, behind } = startLoop(() => {}, lastMs);
  assert.deepEqual(behind, [5_070]);
  await advance(clock, 5_060);
  assert.equal(seals.length, 0);
  await advance(clock, 110);
  assert.deepEqual(seals.map(([dueMs]) => dueMs), [lastMs + 100, lastMs + 200]);
  assert.deepEqual(missed, []);
});

Deno.test("CheckpointLoop: after a restart, the time in between is not made up", async () => {
  const { clock, seals, missed, behind } = startLoop(() => {}, 1_699_999_000_000);
  await advance(clock, 70);
  assert.deepEqual([seals, missed, behind], [[[1_700_000_000_100, 0]], [], []]);
});

Deno.test("CheckpointLoop: while the clock is behind, it is checked every second", async () => {
  const { clock, seals, behind } = startLoop(() => {}, 1_700_003_600_000);
  await advance(clock, 2_500);
  assert.deepEqual([seals.length, behind.length], [0, 3]);
  clock.jump(3_600_000);
  await advance(clock, 1_000);
  assert.ok(seals.length > 0);
});

Deno.test("CheckpointLoop: five seconds with the clock an hour ahead cost five seconds of checkpoints", async () => {
  const { clock, loop, seals, missed, behind, ahead } = startLoop();
  await advance(clock, 80);
  clock.setBy(3_600_000);
  await advance(clock, 5_000);
  assert.equal(seals.length, 1);
  assert.deepEqual([ahead, loop.aheadMs], [[3_600_000], 3_600_000]);
  clock.setBy(-3_600_000);
  await advance(clock, 200);
  assert.equal(loop.aheadMs, undefined);
  assert.deepEqual(missed, [[1_700_000_000_200, 1_700_000_005_200]]);
  assert.deepEqual(seals.slice(1).map(([dueMs]) => dueMs - 1_700_000_000_000), [5_200, 5_300]);
  assert.deepEqual(behind, []);
});

Deno.test(`CheckpointLoop: a clock that stays ahead is followed after ${CLOCK_AHEAD_WAIT_MS} ms`, async () => {
  const { clock, seals, missed, ahead } = startLoop();
  await advance(clock, 80);
  clock.setBy(3_600_000);
  await advance(clock, CLOCK_AHEAD_WAIT_MS);
  assert.equal(seals.length, 1);
  await advance(clock, 200);
  const first = 1_700_000_000_200 + 3_600_000 + CLOCK_AHEAD_WAIT_MS;
  assert.deepEqual(missed, [[1_700_000_000_200, first]]);
  assert.deepEqual(seals.slice(1).map(([dueMs]) => dueMs), [first, first + 100]);
  clock.jump(4_200);
  await advance(clock, 100);
  assert.deepEqual(ahead, [3_600_000], "a long delay after that is not blamed on the clock");
});

Deno.test("CheckpointLoop: waits again each time the clock is set forward", async () => {
  const { clock, seals } = startLoop();
  for (const made of [1, 3]) {
    await advance(clock, 150);
    clock.setBy(3_600_000);
    await advance(clock, CLOCK_AHEAD_WAIT_MS - 500);
    assert.equal(seals.length, made);
    clock.setBy(-3_600_000);
  }
});

Deno.test("CheckpointLoop: stop waits for the current checkpoint, the last one", async () => {
  const answer = Promise.withResolvers<void>();
  const { clock, loop, seals } = startLoop(() => answer.promise);
  await advance(clock, 80);
  const steps: string[] = [];
  const stopped = loop.stop().then(() => steps.push(`stopped after ${seals.length}`));
  assert.equal(await isSettled(stopped), false);
  answer.resolve();
  await stopped;
  assert.deepEqual(steps, ["stopped after 1"]);
  assert.equal(clock.pending, 0);
});

Deno.test("CheckpointLoop: continueAfter continues at the new time, unless stopped", async () => {
  const { clock, loop, seals } = startLoop();
  await advance(clock, 80);
  clock.jump(60_000);
  loop.continueAfter(1_700_000_060_100);
  assert.equal(clock.pending, 1);
  await advance(clock, 100);
  assert.deepEqual(seals.map(([dueMs]) => dueMs), [1_700_000_000_100, 1_700_000_060_200]);
  await loop.stop();
  loop.continueAfter(1_700_000_060_200);
  assert.equal(clock.pending, 0);
});

for (const [overMs, made] of [[0, "made"], [1, "given up"]] as const) {
  Deno.test(`CheckpointLoop: a checkpoint that is ${1_000 + overMs} ms late is ${made}`, async () => {
    const { clock, seals, missed } = startLoop();
    clock.jump(1_070 + overMs);
    await advance(clock, 10, 0);
    const first = made === "made" ? 1_700_000_000_100 : 1_700_000_001_100;
    assert.equal(seals[0]?.[0], first);
    assert.equal(missed.length, overMs);
  });
}

Deno.test("CheckpointLoop: a timer that fires early makes no early checkpoint", async () => {
  const clock = new FakeClock(1_700_000_000_030);
  const seals: number[] = [];
  let timers = 0;
  const early = {
    now: () => clock.now(),
    after: (delayMs: number, task: () => void) =>
      clock.after(timers++ === 0 ? delayMs - 1 : delayMs, task),
  };
  const loop = new CheckpointLoop(early, early, {
    pull: () => Promise.resolve(),
    seal: () => void seals.push(clock.now()),
    onMissed: () => assert.fail("none is late"),
    onClockBehind: () => assert.fail("the clock was not set"),
    onClockAhead: () => assert.fail("the clock was not set"),
  });
  loop.start();
  clock.advance(69);
  await isSettled(Promise.resolve());
  assert.equal(seals.length, 0);
  await advance(clock, 10, 1);
  assert.deepEqual(seals, [1_700_000_000_100]);
});
