import assert from "node:assert/strict";
import type { RandomSource } from "../../lib/random.ts";
import { Hub } from "../../services/proxy/hub/hub.ts";
import type { ClientSink, HubClient } from "../../services/proxy/hub/subscriptions.ts";
import { address, NO_EVENTS } from "../proxy/hub/hub_scene.ts";
import { casesFrom, playSchedules } from "../support/random.ts";
import { ReadersWorld } from "./readers_world.ts";
import { subscriptionNotice } from "../support/fake_feed.ts";

/** What is subscribed to: few, so that clients share. */
const TOPICS = ["a", "b", "silent"];
const CLIENTS_MAX = 5;
const CAPACITY_MAX = 12;
const SUBSCRIBE_TIMEOUT_MS = 1_000;

/** A subscription of one client, and every notification that the naive model owes it. */
interface Claim {
  id: string;
  topic: string;
  /** Global numbers of the notifications that were broadcast while it was subscribed. */
  owed: number[];
  got: number[];
  /** The subscription at the node that it was fed from, on each connection. */
  sources: Map<number, string>;
}

/**
 * A client that "reads" accepts everything before it would be missed, however slowly; a "slow" one
 * accepts a part, one that "never reads" nothing.
 */
const READERS = ["reads", "slow", "never reads"] as const;

interface Client extends ClientSink {
  /** Whether its queue has room. */
  writable: boolean;
  reader: typeof READERS[number];
  hub: HubClient;
  claims: Map<string, Claim>;
  /** Answers awaited, by token. */
  open: Set<number>;
  frames: string[];
  gone: boolean;
  /** Whether it was ever behind: its connection did not accept all of a flush. */
  slow: boolean;
}

interface NodeFrame {
  text: string;
  /** Set for a notification. */
  source?: string;
}

/** Plays a hub between a node and clients that all misbehave, and keeps a naive account of it. */
class HubWorld {
  readonly #random: RandomSource;
  readonly #capacity: number;
  readonly #hub: Hub;
  readonly #clients: Client[] = [];
  #nowMs = 0;
  #tokens = 0;

  // The node.
  #connected = false;
  #epoch = 0;
  #lastNodeId = 0;
  readonly #granted = new Map<string, string>();
  #toNode: string[] = [];
  #fromNode: NodeFrame[] = [];
  /** Pending answers of the node. */
  #late: NodeFrame[] = [];
  #payloads = 0;
  /** Subscribes of this connection that are never answered. */
  #unanswered = 0;

  // The naive account.
  #broadcast = 0;
  #missed = 0;
  #lagged = 0;

  constructor(random: RandomSource) {
    this.#random = random;
    this.#capacity = 1 + this.#below(CAPACITY_MAX);
    this.#hub = new Hub({
      capacity: this.#capacity,
      maxSubscriptions: 10_000,
      subscribeTimeoutMs: SUBSCRIBE_TIMEOUT_MS,
      slowClients: "lag",
      events: { ...NO_EVENTS, onLagged: (count) => this.#lagged += count },
    });
  }

  /** One random event. */
  step(): void {
    const draw = this.#random();
    if (draw < 0.03) this.#connectClient();
    else if (draw < 0.15) this.#subscribe();
    else if (draw < 0.23) this.#unsubscribe();
    else if (draw < 0.25) this.#disconnectClient();
    else if (draw < 0.31) this.#toggleSlow();
    else if (draw < 0.36) this.#catchUp();
    else if (draw < 0.38) this.#drop();
    else if (draw < 0.43) this.#reconnect();
    else if (draw < 0.46) this.#sweep(this.#below(1_500));
    else if (draw < 0.58) this.#nodeReads();
    else if (draw < 0.78) this.#nodeNotifies(this.#pick([...this.#granted.keys()]));
    else this.#hubReads();
    if (this.#random() < 0.7) this.#hub.flush();
    this.#noteSlow();
  }

  #noteSlow(): void {
    for (const client of this.#clients) {
      if (client.hub.cursor !== undefined) client.slow = true;
    }
  }

  /** Lets everything settle, then checks the invariants. */
  settle(): void {
    this.#reconnect();
    for (const client of this.#clients) client.writable = true;
    // Three times every deadline: a request may be lost, repeated, and its orphan detected.
    for (let round = 0; round < 6; round += 1) {
      this.#exchange();
      this.#sweep(SUBSCRIBE_TIMEOUT_MS);
      for (const source of [...this.#granted.keys()]) this.#nodeNotifies(source);
    }
    this.#exchange();
    const before = this.#lagged;
    for (const source of [...this.#granted.keys()]) {
      this.#nodeNotifies(source);
      this.#exchange();
    }
    assert.equal(this.#lagged, before, "Nobody lags after quiet");
    this.#check();
  }

  #check(): void {
    const inUse = new Set<unknown>();
    const topics = new Set<string>();
    for (const client of this.#clients) {
      if (client.gone) continue;
      assert.equal(client.open.size, 0, "Every subscribe was answered");
      assert.equal(client.hub.cursor, undefined, "Every client is up to date");
      for (const claim of client.claims.values()) {
        inUse.add(client.hub.subscriptionOf(claim.id));
        topics.add(claim.topic);
        this.#close(claim, client);
        assert.equal(claim.got.at(-1), claim.owed.at(-1), "The newest has arrived");
      }
    }
    assert.equal(this.#lagged, this.#missed, "Misses are counted exactly");
    assert.equal(this.#granted.size, inUse.size, "Upstream subscriptions are those in use");
    assert.deepEqual(new Set(this.#granted.values()), topics, "Each topic in use is subscribed");
    const size = inUse.size;
    const expected = {
      subscriptions: size,
      upstreamIds: size,
      publicIds: size,
      requests: this.#unanswered,
    };
    assert.deepEqual(this.#hub.table.size, expected, "No map holds more than what is in use");
    assert.equal(this.#hub.clientsBehind.size, 0, "Nobody is behind");
  }

  // Clients.

  #connectClient(): void {
    if (this.#clients.filter(({ gone }) => !gone).length >= CLIENTS_MAX) return;
    const below = (limit: number) => this.#below(limit);
    const reader = this.#pick(READERS) ?? "reads";
    const client: Client = {
      writable: true,
      reader,
      // A message has some 90 bytes, so often not all due messages fit.
      writableBytes() {
        return this.writable ? 1 + below(400) : 0;
      },
      overflowBytes() {
        if (reader === "slow") return below(400);
        return reader === "reads" ? Infinity : 0;
      },
      send: (messages) => messages.forEach(({ text }) => this.#delivered(client, text)),
      close: () => assert.fail("No client is closed in mode lag"),
      hub: undefined as unknown as HubClient, // set in the next statement
      claims: new Map(),
      open: new Set(),
      frames: [],
      gone: false,
      slow: false,
    };
    client.hub = this.#hub.connect(client, address());
    this.#clients.push(client);
  }

  #subscribe(): void {
    const client = this.#anyClient();
    if (client === undefined) return;
    const topic = this.#pick(TOPICS) ?? "a";
    const token = this.#tokens += 1;
    client.open.add(token);
    const shareable = this.#shareable(client, topic);
    const sentBefore = this.#toNode.length;
    const request = { namespace: "eth", paramsText: `["${topic}"]`, key: topic };
    this.#hub.subscribe(client.hub, request, this.#nowMs, (outcome) => {
      assert(client.open.delete(token), "Answered once");
      if (!("id" in outcome)) return;
      const { id } = outcome;
      assert(!client.claims.has(id), "An id is given to one subscription of a client");
      client.claims.set(id, { id, topic, owed: [], got: [], sources: new Map() });
    });
    if (shareable) {
      assert.equal(this.#toNode.length, sentBefore, "What another has is shared, not asked for");
      assert(!client.open.has(token), "What is there is answered at once");
    }
  }

  /** Whether another client has a live subscription to the topic that this one is no part of. */
  #shareable(client: Client, topic: string): boolean {
    const own = [...client.claims.keys()].map((id) => client.hub.subscriptionOf(id));
    return this.#clients.some((other) =>
      [...other.claims.values()].some((claim) => {
        const feed = other.hub.subscriptionOf(claim.id);
        return claim.topic === topic && feed?.isLive && !own.includes(feed);
      })
    );
  }

  #unsubscribe(): void {
    const client = this.#anyClient();
    if (client === undefined) return;
    const own = this.#pick([...client.claims.keys()]);
    if (own === undefined || this.#random() < 0.1) {
      const foreign = this.#clients.flatMap(({ claims }) => [...claims.keys()])
        .filter((id) => !client.claims.has(id));
      const id = this.#pick(foreign) ?? "0xunknown";
      assert.equal(this.#hub.unsubscribe(client.hub, id), false, "A foreign id is refused");
      return;
    }
    const claim = client.claims.get(own);
    assert(claim);
    this.#close(claim, client);
    client.claims.delete(own);
    assert.equal(this.#hub.unsubscribe(client.hub, own), true);
    assert.equal(this.#hub.unsubscribe(client.hub, own), false, "An id ends once");
  }

  #disconnectClient(): void {
    const client = this.#anyClient();
    if (client === undefined) return;
    for (const claim of client.claims.values()) this.#close(claim, client);
    client.gone = true;
    client.claims.clear();
    this.#hub.disconnect(client.hub);
    assert.equal(client.open.size, 0, "What a client waited for ends with it");
  }

  #toggleSlow(): void {
    const client = this.#anyClient();
    if (client === undefined) return;
    client.writable = !client.writable;
  }

  #catchUp(): void {
    const client = this.#pick([...this.#hub.clientsBehind]);
    if (client !== undefined) this.#hub.catchUp(client);
  }

  #delivered(client: Client, text: string): void {
    assert(!client.gone, "Nothing is sent to a client that left");
    const takes = client.writable || client.reader !== "never reads";
    assert(takes, "Nothing is sent to a client that takes nothing");
    const { params: { subscription, result } } = JSON.parse(text);
    const claim = client.claims.get(subscription);
    assert(claim, "A client gets only its own");
    assert.equal(result.topic, claim.topic, "A subscription carries what was asked for");
    assert((claim.got.at(-1) ?? -1) < result.number, "In order, and none twice");
    assert(claim.owed.includes(result.number), "Only what was broadcast since it subscribed");
    const source = claim.sources.get(result.epoch) ?? result.source;
    assert.equal(result.source, source, "One subscription at the node feeds it");
    claim.sources.set(result.epoch, source);
    claim.got.push(result.number);
  }

  /** What a claim missed by now: all that it did not get and that the last `capacity` leave out. */
  #close(claim: Claim, client: Client): void {
    const got = new Set(claim.got);
    const absent = claim.owed.filter((number) => !got.has(number));
    const missed = absent.filter((number) => number < this.#broadcast - this.#capacity);
    if (missed.length > 0) {
      assert(client.slow, "Only a client that was slow misses anything");
      assert.notEqual(client.reader, "reads", "A client that reads misses nothing");
    }
    this.#missed += missed.length;
  }

  // The node.

  #drop(): void {
    if (!this.#connected) return;
    this.#connected = false;
    this.#granted.clear();
    this.#unanswered = 0;
    this.#toNode = [];
    this.#fromNode = [];
    this.#late = [];
    this.#hub.onUpstreamClosed();
  }

  #reconnect(): void {
    if (this.#connected) return;
    this.#connected = true;
    this.#epoch += 1;
    // The ids of a restarted node may equal those that clients still have.
    if (this.#random() < 0.5) this.#lastNodeId = 0;
    const upstream = {
      send: (text: string) => this.#toNode.push(text) > 0,
      drop: () => this.#drop(),
    };
    this.#hub.onUpstreamOpened(upstream, this.#nowMs);
  }

  #nodeReads(reliable = false): void {
    const text = this.#toNode.shift();
    if (text === undefined) return;
    const { id, method, params } = JSON.parse(text);
    const draw = reliable ? 1 : this.#random();
    if (method === "eth_unsubscribe") {
      this.#answer({ id, result: this.#granted.delete(params[0]) });
      return;
    }
    if (draw < 0.05) { // the request is lost
      this.#unanswered += 1;
      return;
    }
    if (draw < 0.1) {
      this.#answer({ id, error: { code: -32000, message: "refused" } });
      return;
    }
    const source = `0x${(this.#lastNodeId += 1).toString(16)}`;
    this.#granted.set(source, params[0]);
    if (draw < 0.15 && params[0] !== "silent") { // the answer is lost
      this.#unanswered += 1;
      return;
    }
    this.#answer({ id, result: source }, draw < 0.3);
  }

  #answer(body: object, late = false): void {
    const frame = { text: JSON.stringify({ jsonrpc: "2.0", ...body }) };
    (late ? this.#late : this.#fromNode).push(frame);
  }

  #nodeNotifies(source: string | undefined): void {
    const topic = source === undefined ? undefined : this.#granted.get(source);
    if (source === undefined || topic === undefined || topic === "silent") return;
    const result = { topic, source, epoch: this.#epoch, payload: this.#payloads += 1 };
    this.#fromNode.push({ text: subscriptionNotice(source, result), source });
  }

  /** The hub reads one frame; the model notes first who is owed it. */
  #hubReads(): void {
    if (this.#late.length > 0 && this.#random() < 0.2) {
      this.#fromNode.push(...this.#late.splice(0, 1));
    }
    const frame = this.#fromNode.shift();
    if (frame === undefined) return;
    const feed = frame.source === undefined
      ? undefined
      : this.#hub.table.findByUpstreamId(frame.source);
    let { text } = frame;
    if (feed !== undefined) {
      const number = this.#broadcast;
      this.#broadcast += 1;
      text = text.replace('"payload":', `"number":${number},"payload":`);
      for (const client of this.#clients) {
        for (const claim of client.claims.values()) {
          if (client.hub.subscriptionOf(claim.id) === feed) claim.owed.push(number);
        }
      }
    }
    assert(this.#hub.receive(text, () => true));
  }

  #sweep(elapsedMs: number): void {
    this.#nowMs += elapsedMs;
    this.#hub.sweep(this.#nowMs);
  }

  /** Both sides send everything that is pending. */
  #exchange(): void {
    this.#fromNode.push(...this.#late.splice(0));
    while (this.#toNode.length > 0 || this.#fromNode.length > 0) {
      this.#nodeReads(true);
      this.#hubReads();
      this.#hub.flush();
      this.#noteSlow(); // a connection may take less than a flush brings
    }
    this.#hub.flush();
    while (this.#hub.clientsBehind.size > 0) {
      for (const client of [...this.#hub.clientsBehind]) this.#hub.catchUp(client);
    }
  }

  #anyClient(): Client | undefined {
    return this.#pick(this.#clients.filter(({ gone }) => !gone));
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[this.#below(items.length)];
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

const SCHEDULES = casesFrom("TEST_HUB_SCHEDULES", 10_000);
const STEPS = 120;

Deno.test(`Hub: ${SCHEDULES} random schedules agree with a naive model`, {
  timeout: 60_000 + 6 * SCHEDULES,
}, async () => {
  await playSchedules("TEST_HUB_SCHEDULES", SCHEDULES, (random) => {
    const world = new HubWorld(random);
    for (let step = 0; step < STEPS; step += 1) world.step();
    world.settle();
  });
});

/** Of clients that read. */
const READER_SCHEDULES = casesFrom("TEST_READER_SCHEDULES", 50);
const READER_STEPS = 60;

Deno.test(
  `Hub: in ${READER_SCHEDULES} schedules of bursts, a client that reads gets everything while others do not read`,
  { timeout: 60_000 + 600 * READER_SCHEDULES },
  async () => {
    await playSchedules("TEST_READER_SCHEDULES", READER_SCHEDULES, async (random) => {
      const world = new ReadersWorld(random);
      await Promise.resolve(); // the node grants the subscription
      for (let step = 0; step < READER_STEPS; step += 1) world.step();
      world.settle();
    });
  },
);
