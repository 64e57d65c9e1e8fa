import assert from "node:assert/strict";
import { SocketTrial } from "../../../services/proxy/node/socket_trial.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const ANSWER = { status: 200, text: "{}", id: undefined };

/** Plays reads, each of which takes as long as given. @returns Reads of each kind, and the pause. */
async function play(count: number, stepMs: number, socketMs: (n: number) => number) {
  const clock = new FakeClock();
  const pauses: string[] = [];
  const trial = new SocketTrial(clock, (reason) => pauses.push(reason));
  const counts = { http: 0, socket: 0, sample: 0 };
  for (let n = 0; n < count && pauses.length === 0; n += 1) {
    const turn = trial.next(clock.now());
    counts[turn] += 1;
    if (turn === "http") await trial.timeHttp(Promise.resolve(ANSWER));
    else if (turn === "sample") trial.socketTook(socketMs(n));
    clock.advance(stepMs);
  }
  return { counts, pauses, isPaused: trial.isPaused };
}

Deno.test("SocketTrial: one of 64 reads goes over HTTP, at most one in 20 ms, and the next is compared", async () => {
  const slow = await play(6_400, 1, () => 0);
  assert.deepEqual(slow.counts, { http: 100, socket: 6_201, sample: 99 });
  const fast = await play(64_000, 0.03125, () => 0);
  assert.deepEqual(fast.counts, { http: 100, socket: 63_800, sample: 100 });
});

Deno.test("SocketTrial: a socket that loses two comparisons in a row is paused, one that stalls is not", async () => {
  const reads = (comparisons: number) => comparisons * 16 * 64 + 2;
  assert.deepEqual((await play(reads(10), 1, () => 5)).pauses, []);
  const { pauses, counts, isPaused } = await play(reads(10), 1, () => 5.1);
  assert.deepEqual(pauses, ["a read takes 5.1 ms over its WebSocket, and 0.0 ms over HTTP"]);
  assert.deepEqual([counts.sample, isPaused], [32, true]);
  const stalls = (n: number) => Math.floor(n / (16 * 64)) % 2 === 0 ? 50 : 1;
  assert.deepEqual((await play(reads(10), 1, stalls)).pauses, []);
});
