import assert from "node:assert/strict";
import type { RandomSource } from "../../lib/random.ts";
import { Hub } from "../../services/proxy/hub/hub.ts";
import type { ClientSink, HubClient } from "../../services/proxy/hub/subscriptions.ts";
import { NEW_HEADS_KEY } from "../../services/proxy/hub/subscription_request.ts";
import { headOf, type ReadNode } from "../../services/proxy/node/read_node.ts";
import { ReadNodes } from "../../services/proxy/node/read_nodes.ts";
import { address, NO_EVENTS } from "../proxy/hub/hub_scene.ts";
import { endpointsOf } from "../proxy/support.ts";
import { settled } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { casesFrom, playSchedules } from "../support/random.ts";
import { subscriptionNotice } from "../support/fake_feed.ts";

const TICK_MS = 250;
const ROUND_MS = 1_000;
const MAX_LAG = 3;
/** Of two nodes, one is behind only if its block is older by more than this. */
const OLDER_MS = 2_000;
const CAPACITY = 64;
const SUBSCRIBE_TIMEOUT_MS = 5_000;

/** Ticks after which nothing of an earlier fault is left: a retry, three rounds, a move, a sweep. */
const QUIET_TICKS = 60_000 / TICK_MS;

/** A read node as it really is. */
interface Node {
  state: "well" | "dead" | "hung";
  /** Once this many blocks ahead of it exist, it is this many behind. */
  lag: number;
  /** The newest block that it has. */
  top: number;
  /** Probes show a head that is far too high. */
  lies: boolean;
  /** What it showed in the last complete round of probes. */
  shown: number;
  /** The newest block that it has announced. */
  head: number;
  subscriptions: Map<string, number>;
  /** It failed since it was made the leader. */
  hasFailed: boolean;
}

/** The newest block of a node in its answers to probes. */
function shownTop({ top, lies }: Node): number {
  return top + (lies ? 1_000_000 : 0);
}

interface Client extends ClientSink {
  hub: HubClient;
  reads: "fast" | "slowly" | "nothing";
  id: string | undefined;
  numbers: number[];
}

/** Plays read nodes that fail, lag and come back, and clients that follow their chain. */
class ReadNodesWorld {
  readonly #random: RandomSource;
  readonly #clock = new FakeClock();
  readonly #nodes: Node[];
  readonly #decision: ReadNodes;
  readonly #hub: Hub;
  readonly #clients: Client[] = [];
  /** Ticks between blocks. */
  readonly #blockTicks: number;
  #ticks = 0;
  #head = 100;
  // The one socket of the hub.
  #socketTo: number | undefined;
  #connectAtMs = 0;
  #frames: string[] = [];
  #grants = 0;
  // The naive account.
  #leader = 0;
  /** Connections that the hub had: each but the first may leave one gap in the heads. */
  #connections = 0;
  #missed = 0;

  constructor(random: RandomSource) {
    this.#random = random;
    this.#blockTicks = 1 + this.#below(8);
    this.#nodes = Array.from({ length: 2 + this.#below(3) }, () => ({
      state: "well",
      lag: 0,
      top: this.#head,
      lies: false,
      shown: 0,
      head: this.#head,
      subscriptions: new Map(),
      hasFailed: false,
    }));
    this.#decision = new ReadNodes({
      endpoints: endpointsOf(...this.#nodes.map((_, index) => `node${index}`)),
      maxLag: MAX_LAG,
      clock: this.#clock,
      unixClock: this.#clock,
      random,
      onLeaderChange: (leader, reason) => this.#moved(leader.index, reason),
    });
    this.#hub = new Hub({
      capacity: CAPACITY,
      maxSubscriptions: 100,
      subscribeTimeoutMs: SUBSCRIBE_TIMEOUT_MS,
      slowClients: "lag",
      events: { ...NO_EVENTS, onLagged: (count) => this.#missed += count },
    });
    for (const reads of ["fast", "slowly", "nothing"] as const) this.#connectClient(reads);
  }

  /** One random fault or repair, and some time. */
  async step(): Promise<void> {
    const node = this.#nodes[this.#below(this.#nodes.length)] ?? assert.fail();
    const draw = this.#random();
    if (draw < 0.05) this.#fail(node, "dead");
    else if (draw < 0.08) this.#fail(node, "hung");
    else if (draw < 0.15) node.state = "well";
    else if (draw < 0.19) node.lag = this.#below(12);
    else if (draw < 0.26) node.lag = 0;
    else if (draw < 0.28) node.lies = !node.lies;
    else if (draw < 0.33) this.#loseSocket("closed by the node");
    else if (draw < 0.36) this.#read();
    else if (draw < 0.38 && this.#clients.length < 6) this.#connectClient("fast");
    for (let tick = this.#below(4); tick >= 0; tick -= 1) await this.#tick(false);
  }

  /** Checks the invariants after a quiet time, then again after all nodes were repaired. */
  async settle(): Promise<void> {
    if (this.#nodes.every(({ state }) => state !== "well")) this.#nodes[0]!.state = "well";
    for (let tick = 0; tick < QUIET_TICKS; tick += 1) await this.#tick(true);
    this.#checkLeader();
    for (let n = 0; n < 20; n += 1) this.#read();
    for (const node of this.#nodes) Object.assign(node, { state: "well", lag: 0, lies: false });
    for (let tick = 0; tick < QUIET_TICKS; tick += 1) await this.#tick(true);
    assert(this.#decision.all.every(({ isUp }) => isUp), "Nodes that are well are in");
    assert.equal(this.#socketTo, this.#decision.leader.index, "The hub follows the leader");
    for (const client of this.#clients) this.#checkClient(client);
  }

  // The nodes.

  #fail(node: Node, state: "dead" | "hung"): void {
    node.state = state;
    node.hasFailed = true;
    if (state === "dead" && this.#nodes[this.#socketTo ?? -1] === node) this.#loseSocket("gone");
  }

  /** A round of probes, all answered at once. */
  #probe(): void {
    for (const [index, node] of this.#nodes.entries()) {
      if (!this.#at(index).isProbeDue(this.#clock.now())) continue;
      if (node.state !== "well") {
        node.hasFailed = true;
        if (node.state === "dead") this.#decision.onProbeRefused(this.#at(index), "dead");
        else this.#decision.onProbeFailed(this.#at(index), "hung");
        continue;
      }
      node.hasFailed ||= node.lies;
      const agoS = (this.#head - node.top) * this.#blockTicks * TICK_MS / 1_000;
      const timestampS = this.#clock.now() / 1_000 - agoS;
      this.#decision.onProbeAnswered(this.#at(index), { number: shownTop(node), timestampS }, 1);
    }
    this.#decision.endRound();
    for (const node of this.#nodes) node.shown = shownTop(node);
  }

  /** A read like the pool's: repeated at another node if the first one is gone. */
  #read(): void {
    const first = this.#decision.leader;
    if (this.#answersRead(first.index)) return;
    const second = this.#decision.findOtherNode(first);
    if (second === undefined) return;
    assert.notEqual(second, first, "A read is not sent to the same node again");
    this.#answersRead(second.index);
  }

  #answersRead(index: number): boolean {
    const isWell = this.#nodes[index]?.state === "well";
    if (isWell) this.#decision.countRead(this.#at(index), { isFailed: false });
    else this.#decision.onDied(this.#at(index), "refused");
    return isWell;
  }

  #moved(leader: number, reason: string): void {
    const before = this.#nodes[this.#leader] ?? assert.fail();
    const isBehind = this.#nodes.some(({ shown }) => shown - shownTop(before) > MAX_LAG);
    // A node alone far above the others may be wrong, even if the others only lag.
    const isAbove = reason.endsWith("blocks above all others");
    const isFaulty = before.hasFailed || before.state !== "well" || isBehind || isAbove;
    assert(isFaulty, `A leader that is well stays: ${reason}`);
    assert.notEqual(leader, this.#leader);
    this.#leader = leader;
    for (const node of this.#nodes) node.hasFailed = false;
    if (this.#socketTo !== undefined && this.#socketTo !== leader) {
      this.#closeSocket();
    }
    this.#connectAtMs = this.#clock.now();
  }

  /** After a while: it lives, and is in step as far as the nodes themselves can tell. */
  #checkLeader(): void {
    const node = this.#nodes[this.#decision.leader.index] ?? assert.fail();
    assert.equal(node.state, "well", "The leader lives");
    const up = this.#nodes.filter((_, index) => this.#at(index).isUp);
    // Of four nodes, two that lie alike and two that do not take turns: nobody can tell who is right.
    if (up.length === 4 && up.filter(({ lies }) => lies).length === 2) return;
    const shown = up.map(shownTop).sort((a, b) => b - a);
    // Heads are compared with those of the previous round.
    const slack = Math.ceil(ROUND_MS / (this.#blockTicks * TICK_MS));
    if (shown.length >= 3) {
      assert(shown[1]! - shownTop(node) <= MAX_LAG + slack, "The leader is in step");
    } else if (shown.length === 2 && !this.#nodes.some(({ lies }) => lies)) {
      const ageMs = (shown[0]! - node.top) * this.#blockTicks * TICK_MS;
      const isInStep = shown[0]! - node.top <= MAX_LAG + slack;
      assert(isInStep || ageMs <= OLDER_MS + ROUND_MS, "The leader is in step with another node");
    }
  }

  // The socket of the hub.

  #toNode(text: string): boolean {
    const node = this.#nodes[this.#socketTo ?? -1];
    if (node === undefined) return false;
    const { id, method, params } = JSON.parse(text);
    if (node.state !== "well") return true; // it hangs
    if (method === "eth_unsubscribe") node.subscriptions.delete(params[0]);
    else {
      const granted = `0x${(this.#grants += 1).toString(16)}`;
      node.subscriptions.set(granted, 0);
      this.#frames.push(JSON.stringify({ jsonrpc: "2.0", id, result: granted }));
    }
    return true;
  }

  #connect(): void {
    if (this.#socketTo !== undefined || this.#clock.now() < this.#connectAtMs) return;
    const { leader } = this.#decision;
    const node = this.#nodes[leader.index] ?? assert.fail();
    if (node.state !== "well") {
      this.#connectAtMs = this.#clock.now() + ROUND_MS;
      node.hasFailed = true;
      return this.#decision.onDied(leader, "cannot be connected to");
    }
    this.#socketTo = leader.index;
    this.#connections += 1;
    const send = (text: string) => this.#toNode(text);
    const drop = () => assert.fail("Not dropped");
    this.#hub.onUpstreamOpened({ send, drop }, this.#clock.now());
  }

  #loseSocket(reason: string): void {
    const index = this.#socketTo;
    const node = this.#nodes[index ?? -1];
    if (index === undefined || node === undefined) return;
    node.hasFailed = true;
    this.#closeSocket();
    this.#connectAtMs = this.#clock.now() + TICK_MS;
    this.#decision.onDied(this.#at(index), reason);
  }

  #closeSocket(): void {
    this.#nodes[this.#socketTo ?? -1]?.subscriptions.clear();
    this.#socketTo = undefined;
    this.#frames = [];
    this.#hub.onUpstreamClosed();
  }

  /** Every node gets the blocks that are due to it, one by one, and announces them. */
  #announce(): void {
    for (const node of this.#nodes) {
      if (node.state === "well") node.top = Math.max(node.top, this.#head - node.lag);
      for (; node.state === "well" && node.head < node.top; node.head += 1) {
        const result = { number: `0x${(node.head + 1).toString(16)}` };
        for (const subscription of node.subscriptions.keys()) {
          this.#frames.push(subscriptionNotice(subscription, result));
        }
      }
    }
  }

  #acceptsHead(block: unknown): boolean {
    const head = headOf(block);
    return !head || this.#decision.onHead(this.#at(this.#socketTo ?? -1), head);
  }

  // Clients.

  #connectClient(reads: Client["reads"]): void {
    const client: Client = {
      reads,
      writableBytes: () => reads === "fast" ? Infinity : reads === "nothing" ? 0 : this.#below(400),
      overflowBytes: () => 0,
      send: (messages) => messages.forEach(({ text }) => this.#delivered(client, text)),
      close: () => assert.fail("No client is closed in mode lag"),
      hub: undefined as unknown as HubClient, // set in the next statement
      id: undefined,
      numbers: [],
    };
    client.hub = this.#hub.connect(client, address());
    this.#clients.push(client);
    this.#subscribe(client);
  }

  #subscribe(client: Client): void {
    const request = { namespace: "eth", paramsText: '["newHeads"]', key: NEW_HEADS_KEY };
    this.#hub.subscribe(client.hub, request, this.#clock.now(), (outcome) => {
      if ("id" in outcome) client.id = outcome.id;
      else queueMicrotask(() => this.#subscribe(client)); // the nodes were away
    });
  }

  #delivered(client: Client, text: string): void {
    assert.notEqual(client.reads, "nothing", "Nothing is sent to a client that takes nothing");
    const { params: { subscription, result } } = JSON.parse(text);
    assert.equal(subscription, client.id, "A client keeps its id");
    const number = Number(result.number);
    const last = client.numbers.at(-1) ?? -1;
    assert(number > last, `A head comes twice or goes back: ${number} after ${last}`);
    client.numbers.push(number);
  }

  #checkClient({ reads, id, numbers }: Client): void {
    assert.notEqual(id, undefined, "Every client is subscribed");
    if (reads === "nothing") return;
    const gaps = numbers.filter((number, at) => at > 0 && number !== numbers[at - 1]! + 1);
    if (reads === "fast") {
      assert.equal(numbers.at(-1), this.#head, "A client that reads has the newest head");
      assert(gaps.length < this.#connections, "Heads are missed between connections alone");
    } else if (gaps.length >= this.#connections) assert(this.#missed > 0, "Misses are counted");
  }

  // Time.

  async #tick(isQuiet: boolean): Promise<void> {
    this.#clock.advance(TICK_MS);
    this.#ticks += 1;
    if (this.#ticks % this.#blockTicks === 0) this.#head += 1;
    if (this.#ticks % (ROUND_MS / TICK_MS) === 0) {
      this.#probe();
      this.#hub.sweep(this.#clock.now());
    }
    this.#connect();
    this.#announce();
    for (let frame = this.#frames.shift(); frame; frame = this.#frames.shift()) {
      assert(this.#hub.receive(frame, (block) => this.#acceptsHead(block)));
    }
    if (isQuiet || this.#random() < 0.8) this.#hub.flush();
    for (const client of [...this.#hub.clientsBehind]) this.#hub.catchUp(client);
    await settled();
    if (isQuiet) this.#hub.flush();
  }

  #at(index: number): ReadNode {
    return this.#decision.all[index] ?? assert.fail();
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

const SCHEDULES = casesFrom("TEST_READ_NODES_SCHEDULES", 300);
const STEPS = 120;

Deno.test(
  `Read nodes: in ${SCHEDULES} random schedules no client sees a head twice, and the hub follows a living node`,
  { timeout: 60_000 + 100 * SCHEDULES },
  async () => {
    await playSchedules("TEST_READ_NODES_SCHEDULES", SCHEDULES, async (random) => {
      const world = new ReadNodesWorld(random);
      for (let step = 0; step < STEPS; step += 1) await world.step();
      await world.settle();
    });
  },
);
