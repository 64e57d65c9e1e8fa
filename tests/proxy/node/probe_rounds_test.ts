import assert from "node:assert/strict";
import { ProbeRounds, ROUND_MS } from "../../../services/proxy/node/probe_rounds.ts";
import { ReadNodes } from "../../../services/proxy/node/read_nodes.ts";
import { FakeClock } from "../../support/fake_clock.ts";

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

Deno.test("ProbeRounds: every node that is due is asked once a round, which ends with the slowest answer", async () => {
  const clock = new FakeClock();
  const nodes = new ReadNodes({ names: ["a", "b"], maxLag: 3, clock, random: () => 0 });
  const asked: number[] = [];
  const pending: PromiseWithResolvers<void>[] = [];
  const rounds = new ProbeRounds({
    nodes,
    clock,
    probe(node) {
      asked.push(node);
      const answer = Promise.withResolvers<void>();
      pending.push(answer);
      return answer.promise;
    },
  });
  /** All nodes answer. @returns Those that were asked since the last call. */
  const answer = async () => {
    for (const { resolve } of pending.splice(0)) resolve();
    await settled();
    return asked.splice(0);
  };
  for (let read = 0; read < 10; read += 1) nodes.onReadFailed(0);
  rounds.start();
  clock.advance(600);
  pending.shift()?.resolve();
  await settled();
  assert.equal(nodes.leader, 0, "the round goes on");
  assert.deepEqual(await answer(), [0, 1]);
  assert.equal(nodes.leader, 1, "its end applies the limits");
  clock.advance(ROUND_MS - 601);
  assert.deepEqual(asked, []);
  clock.advance(1);
  clock.advance(2 * ROUND_MS);
  nodes.onProbeRefused(1, "gone"); // not due for a while
  assert.deepEqual(await answer(), [0, 1]);
  clock.advance(0);
  assert.deepEqual(asked, [0], "a long round is followed by the next one at once");
  rounds.stop();
  await answer();
  assert.equal(clock.pending, 0);
});

Deno.test("ProbeRounds: the end also ends the wait for the next round", async () => {
  const clock = new FakeClock();
  const nodes = new ReadNodes({ names: ["a"], maxLag: 3, clock, random: () => 0 });
  let asked = 0;
  const rounds = new ProbeRounds({
    nodes,
    clock,
    probe() {
      asked += 1;
      return Promise.resolve();
    },
  });
  rounds.start();
  await settled();
  assert.equal(clock.pending, 1);
  rounds.stop();
  clock.advance(10 * ROUND_MS);
  assert.deepEqual([asked, clock.pending], [1, 0]);
});
