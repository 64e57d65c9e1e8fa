import assert from "node:assert/strict";
import type { RandomSource } from "../../../lib/random.ts";
import type { Head, ReadNode } from "../../../services/proxy/node/read_node.ts";
import { ReadNodes } from "../../../services/proxy/node/read_nodes.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { casesFrom, playSchedules } from "../../support/random.ts";
import { endpointsOf } from "../support.ts";

const TICK_MS = 250;
const ROUND_TICKS = 4;
const PROBE_TIMEOUT_TICKS = 8;
/** A head is implausible this far above the second-highest of three or more. */
const FAR_ABOVE = 32;
/** A block that only an unreachable node has is refused until the end of the round after so long. */
const HEAD_KEPT_MS = 30_000;
/** A lying node adds this to its heads. */
const LIE = 1_000_000;
/** Long enough for retries, removals and {@link HEAD_KEPT_MS} after each other. */
const QUIET_TICKS = 120_000 / TICK_MS;
/** {@link HEAD_KEPT_MS} and a round. */
const KEPT_TICKS = HEAD_KEPT_MS / TICK_MS + PROBE_TIMEOUT_TICKS + ROUND_TICKS;

/** A read node as it really is. */
interface Node {
  state: "well" | "dead" | "hung";
  /** Its reads fail, but its probes do not. */
  failsReads: boolean;
  /** It gets no blocks. */
  isStopped: boolean;
  lag: number;
  /** Its newest block. */
  top: number;
  /** How much higher its heads are than its newest block: it is of another chain. */
  lie: number;
  /**
   * Its newest plausible head, -1 before the first. A lie counts if fewer than two other nodes serve
   * to compare it with.
   */
  known: number;
  knownAtMs: number;
}

const NEW_NODE: Readonly<Node> = {
  state: "well",
  failsReads: false,
  isStopped: false,
  lag: 0,
  top: 1_000,
  lie: 0,
  known: -1,
  knownAtMs: 0,
};

interface Probe {
  index: number;
  startTick: number;
  endTick: number;
  /** Its answer, if it is written at once. */
  head: Head | undefined;
}

/** A naive account of what each node has, and of what clients may know of it. */
class Model {
  readonly #random: RandomSource;
  readonly #clock = new FakeClock();
  readonly #nodes: Node[];
  readonly #decision: ReadNodes;
  readonly #blocksPerTick: number;
  #tick = 0;
  #height = NEW_NODE.top;
  #roundEnds = 0;
  #probes: Probe[] = [];

  constructor(random: RandomSource) {
    this.#random = random;
    this.#blocksPerTick = [0.05, 0.25, 1, 2.5][this.#below(4)] ?? 1;
    this.#nodes = Array.from({ length: 1 + this.#below(5) }, () => ({ ...NEW_NODE }));
    const endpoints = endpointsOf(...this.#nodes.map((_, index) => `node${index}`));
    const clocks = { clock: this.#clock.monotonic, unixClock: this.#clock };
    this.#decision = new ReadNodes({ endpoints, maxLag: 3, ...clocks, random });
  }

  /** One random fault or repair, then some time and reads. */
  step(): void {
    const node = this.#nodes[this.#below(this.#nodes.length)] ?? assert.fail();
    const draw = this.#below(40);
    if (draw < 3) node.state = draw < 2 ? "dead" : "hung";
    else if (draw < 6) Object.assign(node, { state: "well", isStopped: false, failsReads: false });
    else if (draw < 8) node.isStopped = true;
    else if (draw < 9) node.failsReads = true;
    else if (draw < 12) node.lag = this.#below(draw === 9 ? 50 : 4);
    else if (draw < 13) this.#goBack(1 + this.#below(3));
    else if (draw < 14 && this.#random() < 0.2) this.#goBack(100 + this.#below(100));
    else if (draw < 16 && this.#nodes.every(({ lie }) => lie === 0)) node.lie = LIE;
    else if (draw < 18) this.#nodes.forEach((each) => each.lie = 0);
    for (let tick = this.#below(12); tick >= 0; tick -= 1) {
      this.#play();
      this.#read();
    }
  }

  /**
   * After two minutes in which one node is well and nothing else happens, no read is refused, if no
   * block has come in the last half minute: each new block may put a node far above all others.
   */
  settle(): void {
    if (this.#nodes.every(({ state }) => state !== "well")) this.#nodes[0]!.state = "well";
    for (let tick = 0; tick < QUIET_TICKS; tick += 1) this.#play();
    for (let tick = 0; tick < KEPT_TICKS; tick += 1) this.#play({ isStill: true });
    for (let block = this.#height - 300; block <= this.#height + 3; block += 1) {
      assert.notEqual(this.#decision.findNodeForBlocks([block]), undefined, `${block} is refused`);
    }
  }

  #play({ isStill = false } = {}): void {
    this.#clock.advance(TICK_MS);
    this.#tick += 1;
    if (!isStill) this.#height += Math.floor(this.#blocksPerTick + this.#random());
    for (const node of this.#nodes) {
      if (!node.isStopped) node.top = Math.max(node.top, this.#height - node.lag);
    }
    this.#announce();
    const isRoundDue = this.#probes.length === 0 && this.#tick >= this.#roundEnds;
    if (isRoundDue) this.#startRound();
    if (isRoundDue || this.#probes.length > 0) this.#answerProbes();
  }

  /** The chain goes back, on all nodes that are not stopped. */
  #goBack(blocks: number): void {
    this.#height -= blocks;
    for (const node of this.#nodes) {
      if (!node.isStopped) node.top = Math.min(node.top, this.#height);
    }
  }

  /** The leader announces its head, sometimes late, sometimes not. */
  #announce(): void {
    const { leader } = this.#decision;
    const node = this.#nodes[leader.index] ?? assert.fail();
    if (node.state !== "well" || this.#random() < 0.3) return;
    const head = node.top + node.lie - (this.#random() < 0.8 ? 0 : this.#below(4));
    const isPlausible = this.#isPlausible(leader.index, head);
    const isShown = this.#decision.onHead(leader, { ...this.#headOf(node), number: head });
    assert(!isShown || isPlausible, "No head far above all others is shown to clients");
    if (isPlausible && head >= node.known) this.#know(leader.index, head);
  }

  #startRound(): void {
    this.#roundEnds = this.#tick + ROUND_TICKS;
    for (const [index, node] of this.#nodes.entries()) {
      if (!this.#at(index).isProbeDue(this.#clock.monotonic.now()) || this.#nodes.length === 1) {
        continue;
      }
      const lateTicks = this.#random() < 0.1 ? this.#below(6) : 0;
      const waitTicks = node.state === "hung" ? PROBE_TIMEOUT_TICKS : lateTicks;
      const head = this.#random() < 0.5 ? this.#headOf(node) : undefined;
      const endTick = this.#tick + waitTicks;
      this.#probes.push({ index, startTick: this.#tick, endTick, head });
    }
  }

  #answerProbes(): void {
    for (const { index, startTick, endTick, head } of this.#probes) {
      const node = this.#nodes[index] ?? assert.fail();
      if (endTick !== this.#tick) continue;
      if (node.state === "dead") this.#decision.onProbeRefused(this.#at(index), "refused");
      else if (node.state === "hung") this.#decision.onProbeFailed(this.#at(index), "hung");
      else this.#answer(index, head ?? this.#headOf(node), (endTick - startTick) * TICK_MS);
    }
    this.#probes = this.#probes.filter(({ endTick }) => endTick > this.#tick);
    if (this.#probes.length > 0) return;
    this.#decision.endRound();
    for (const node of this.#nodes) {
      if (this.#clock.now() - node.knownAtMs >= HEAD_KEPT_MS) node.known = -1;
    }
  }

  #answer(index: number, head: Head, probeMs: number): void {
    const { known, knownAtMs } = this.#nodes[index] ?? assert.fail();
    const isPlausible = this.#isPlausible(index, head.number);
    this.#decision.onProbeAnswered(this.#at(index), head, probeMs);
    const isOutdated = known >= head.number && knownAtMs > this.#clock.now() - probeMs;
    if (isPlausible && !isOutdated) this.#know(index, head.number);
  }

  #headOf({ top, lie }: Node) {
    const agoS = (this.#height - top) / this.#blocksPerTick * TICK_MS / 1_000;
    return { number: top + lie, timestampS: this.#clock.now() / 1_000 - agoS };
  }

  #know(index: number, head: number): void {
    Object.assign(this.#nodes[index]!, { known: head, knownAtMs: this.#clock.now() });
  }

  #isPlausible(index: number, head: number): boolean {
    const others = this.#decision.all.filter((other) => other.index !== index && other.isUp)
      .flatMap(({ round, headLastRound }) => (round.head ?? headLastRound)?.number ?? []);
    const second = [head, ...others].sort((a, b) => b - a)[1] ?? head;
    return others.length < 2 || head - second <= FAR_ABOVE;
  }

  #read(): void {
    const from = this.#height - this.#below(8) + 3;
    const to = from + this.#below(3) * this.#below(60);
    const blocks = this.#random() < 0.5 ? [from] : [from, to];
    const known = blocks.filter((block) => this.#nodes.some((_, node) => this.#knows(node, block)));
    const node = this.#decision.findNodeForBlocks(blocks);
    if (node === undefined) return this.#checkRefusal(known);
    this.#checkAnswer(node.index, known);
    const { leader } = this.#decision;
    const isLeaderAble = leader.isUp && known.every((block) => this.#knows(leader.index, block));
    if (isLeaderAble) assert.equal(node, leader, "Reads go to the leader if it has their blocks");
    const { state, failsReads } = this.#nodes[node.index] ?? assert.fail();
    const isFailed = state !== "well" || failsReads;
    this.#decision.countRead(node, { isFailed });
    if (state === "dead") this.#decision.onDied(node, "refused");
    const other = isFailed ? this.#decision.findOtherNode(node, blocks) : undefined;
    assert.notEqual(other, node, "A read is not sent to the same node again");
    if (other !== undefined) this.#checkAnswer(other.index, known);
  }

  /** Whether it was seen to have a block, and not to have lost it, in the last half minute. */
  #knows(index: number, block: number): boolean {
    return this.#nodes[index]!.known >= block;
  }

  #checkAnswer(index: number, known: number[]): void {
    if (this.#nodes.length === 1) return;
    const { top, known: shown } = this.#nodes[index] ?? assert.fail();
    const has = Math.max(top, shown); // if its chain went back, its next head shows it
    assert(known.every((block) => has >= block), `node ${index}, at ${top}, lacks one of ${known}`);
  }

  #checkRefusal(known: number[]): void {
    assert(known.length > 0, "A read of blocks that no client may know is not refused");
    const isServed = this.#nodes.some((_, node) =>
      this.#at(node).isUp && known.every((block) => this.#knows(node, block))
    );
    assert(!isServed, "A read is not refused while a node that serves has its blocks");
  }

  #at(index: number): ReadNode {
    return this.#decision.all[index] ?? assert.fail();
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

const SCHEDULES = casesFrom("TEST_READ_NODES_MODEL_SCHEDULES", 300);

Deno.test("ReadNodes: in random schedules, reads of blocks that clients may know go to a node that has them, and no others are refused", async () => {
  await playSchedules("TEST_READ_NODES_MODEL_SCHEDULES", SCHEDULES, (random) => {
    const model = new Model(random);
    for (let step = 0; step < 60; step += 1) model.step();
    model.settle();
  });
});
