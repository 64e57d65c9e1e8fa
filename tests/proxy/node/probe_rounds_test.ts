import assert from "node:assert/strict";
import type { Head, ReadNode } from "../../../services/proxy/node/read_node.ts";
import { ProbeRounds, ROUND_MS } from "../../../services/proxy/node/probe_rounds.ts";
import type { ReadNodes } from "../../../services/proxy/node/read_nodes.ts";
import { settled } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { readNodesOf } from "../support.ts";

const SILENCE_MS = 15_000;

/** Probes of nodes with the head `head`, and their effects. */
class Scene {
  readonly clock = new FakeClock();
  readonly nodes: ReadNodes;
  readonly rounds: ProbeRounds;
  readonly dropped: string[] = [];
  asked: number[] = [];
  head: number | undefined = 1;
  followsHeads = true;
  /** While it is set, no probe is answered. */
  pending: PromiseWithResolvers<void>[] | undefined;

  constructor(names: string[] = ["a"]) {
    this.nodes = readNodesOf(names.join(" "), { clock: this.clock });
    this.rounds = new ProbeRounds({
      nodes: this.nodes,
      clock: this.clock,
      silenceMs: SILENCE_MS,
      hub: this,
      probe: (node) => this.#probe(node),
    });
    this.rounds.start();
    this.connect();
  }

  connect(): void {
    this.rounds.onConnected(this.nodes.leader, { drop: (reason) => this.dropped.push(reason) });
  }

  async #probe(node: ReadNode): Promise<Head | undefined> {
    this.asked.push(node.index);
    const { head } = this; // as the node has it when it is asked
    const answer = Promise.withResolvers<void>();
    if (this.pending?.push(answer)) await answer.promise;
    return head === undefined ? undefined : { number: head, timestampS: 0 };
  }

  /** The chain is at this block, and the node announces it. */
  announce(number: number): void {
    this.head = number;
    this.rounds.onHead({ number, timestampS: 0 });
  }

  async pass(totalMs: number): Promise<void> {
    for (let passedMs = 0; passedMs < totalMs; passedMs += 500) {
      await settled();
      this.clock.advance(500);
    }
    await settled();
  }

  /** All probes are answered. @returns The nodes that were asked since the last call. */
  async answer(): Promise<number[]> {
    for (const { resolve } of this.pending?.splice(0) ?? []) resolve();
    await settled();
    return this.asked.splice(0);
  }
}

Deno.test("ProbeRounds: a round asks every due node of a group once, and ends with the slowest answer", async () => {
  const scene = new Scene(["a", "b"]);
  const { clock, nodes, rounds } = scene;
  scene.pending = [];
  await scene.pass(ROUND_MS);
  assert.deepEqual(await scene.answer(), [0, 1, 0, 1], "the first round, and the second");
  const [first = assert.fail(), second = assert.fail()] = nodes.all;
  nodes.countRead(first, { isFailed: true });
  clock.advance(ROUND_MS);
  assert.equal(first.round.reads, 1, "the round goes on");
  assert.deepEqual(await scene.answer(), [0, 1]);
  assert.equal(first.round.reads, 0, "reads are counted by round");
  clock.advance(3 * ROUND_MS);
  nodes.onProbeRefused(second, "gone"); // not due for a while
  assert.deepEqual(await scene.answer(), [0, 1]);
  clock.advance(0);
  assert.deepEqual(scene.asked, [0], "a long round is followed by the next one at once");
  rounds.stop();
  await scene.answer();
  assert.equal(clock.pending, 0);
});

Deno.test("ProbeRounds: if a node's chain grows without announcements, its connection is replaced", async () => {
  for (const hasAnnounced of [true, false]) {
    const scene = new Scene();
    if (hasAnnounced) scene.announce(1);
    else await scene.pass(SILENCE_MS); // its head is read
    scene.head = 5;
    scene.clock.advance(0.25); // the reason has whole milliseconds all the same
    await scene.pass(SILENCE_MS + ROUND_MS - 500);
    assert.deepEqual(hasAnnounced ? scene.dropped : [], []);
    await scene.pass(ROUND_MS);
    assert.match(scene.dropped[0] ?? "", /^no new head for \d+ ms while the chain advanced$/);
    scene.rounds.stop();
  }
});

const quiet: [name: string, isAsked: boolean, play: (scene: Scene) => Promise<void>][] = [
  ["announces heads", false, async (scene) => {
    for (let number = 1; number < 10; number += 1) {
      scene.announce(number);
      await scene.pass(SILENCE_MS / 2);
    }
  }],
  ["has an idle chain", true, async (scene) => {
    scene.announce(1);
    await scene.pass(3 * SILENCE_MS);
  }],
  ["has no subscription to newHeads", false, async (scene) => {
    scene.followsHeads = false;
    scene.announce(1);
    scene.head = 9;
    await scene.pass(3 * SILENCE_MS);
  }],
  ["does not answer", true, async (scene) => {
    scene.announce(1);
    scene.head = undefined;
    await scene.pass(3 * SILENCE_MS);
  }],
  ["announces its head just after it was read", true, async (scene) => {
    scene.announce(1);
    await scene.pass(2 * SILENCE_MS);
    scene.head = 2;
    await scene.pass(ROUND_MS);
    scene.announce(2);
    await scene.pass(3 * SILENCE_MS);
  }],
  ["announces something that is no head", true, async (scene) => {
    scene.announce(2);
    scene.rounds.onHead(undefined);
    await scene.pass(3 * SILENCE_MS);
  }],
  ["is further on and idle on a new connection", true, async (scene) => {
    scene.announce(1);
    scene.connect();
    scene.head = 100;
    await scene.pass(3 * SILENCE_MS);
  }],
  ["was read before a new connection", true, async (scene) => {
    scene.pending = [];
    await scene.pass(SILENCE_MS);
    scene.connect();
    scene.head = 100; // of the new one, whose chain is idle
    await scene.answer();
    scene.pending = undefined;
    await scene.pass(3 * SILENCE_MS);
  }],
];
for (const [name, isAsked, play] of quiet) {
  Deno.test(`ProbeRounds: a single node that ${name} keeps its connection`, async () => {
    const scene = new Scene();
    await play(scene);
    assert.deepEqual([scene.dropped, scene.asked.length > 0], [[], isAsked]);
    scene.rounds.stop();
  });
}

Deno.test("ProbeRounds: a silent node is read after the whole silence, and dropped a round later", async () => {
  const scene = new Scene();
  scene.announce(1);
  scene.head = 2;
  await scene.pass(SILENCE_MS - 500);
  scene.clock.advance(499);
  assert.deepEqual(scene.asked, []);
  scene.clock.advance(1);
  assert.deepEqual(scene.asked, [0]);
  await settled();
  scene.clock.advance(ROUND_MS - 1);
  await settled();
  assert.deepEqual(scene.dropped, []);
  scene.clock.advance(1);
  await settled();
  assert.deepEqual(scene.dropped, ["no new head for 16000 ms while the chain advanced"]);
  scene.rounds.stop();
});

Deno.test("ProbeRounds: after stop nothing is requested, not even after a pending probe", async () => {
  const scene = new Scene();
  scene.pending = [];
  await scene.pass(SILENCE_MS);
  scene.rounds.stop();
  assert.deepEqual(await scene.answer(), [0]);
  await scene.pass(2 * SILENCE_MS);
  assert.deepEqual([scene.asked, scene.clock.pending], [[], 0]);
});
