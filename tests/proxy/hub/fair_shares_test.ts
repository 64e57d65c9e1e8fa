/** Callers that take all subscriptions they can get, beside newcomers and others who have some. */
import assert from "node:assert/strict";
import type { Hub } from "../../../services/proxy/hub/hub.ts";
import { options } from "../../../services/proxy/options.ts";
import { callerAddress } from "../../../lib/http/caller_address.ts";
import type { HubClient } from "../../../services/proxy/hub/hub_client.ts";
import { seededRandom } from "../../../lib/random.ts";
import { hubWith, NO_EVENTS, OPEN_SINK, topicRequest } from "./quiet.ts";

/** As by default. */
const PLACES = Number(options.maxUpstreamSubscriptions.default);
/** Subscriptions that each newcomer would like to have. */
const WANTED = 3;

/** A hub whose node grants everything at once, and its callers. */
class Crowd {
  readonly hub: Hub;
  /** Why clients were closed. */
  readonly closed: string[] = [];
  readonly refused: string[] = [];
  /** The clients of each address that has subscriptions: one for each subscription. */
  readonly #clients = new Map<string, Set<HubClient>>();
  #topics = 0;

  constructor() {
    this.hub = hubWith({
      random: seededRandom(1),
      maxSubscriptions: PLACES,
      upstream: { send: (text) => this.#grant(text), drop: () => {} },
      events: { ...NO_EVENTS, refused: (limit) => this.refused.push(limit) },
    });
  }

  #grant(text: string): boolean {
    const { id, method, params } = JSON.parse(text);
    if (method !== "eth_subscribe") return true;
    queueMicrotask(() =>
      this.hub.receive(JSON.stringify({ jsonrpc: "2.0", id, result: `at node: ${params}` }))
    );
    return true;
  }

  /** A new connection of an address subscribes to something that nobody else has. */
  async subscribe(address: string): Promise<boolean> {
    const clients = this.#clients.get(address) ?? new Set();
    this.#clients.set(address, clients);
    const client = this.hub.connect({
      ...OPEN_SINK,
      close: (code, reason) => {
        this.closed.push(`${code} ${reason}`);
        clients.delete(client);
      },
    }, callerAddress(new Headers(), address, false));
    const topic = `topic ${this.#topics += 1}`;
    const outcome = await new Promise<object>((resolve) =>
      this.hub.subscribe(client, topicRequest(topic), 0, resolve)
    );
    if ("id" in outcome) clients.add(client);
    else this.hub.disconnect(client);
    return "id" in outcome;
  }

  /** Subscriptions of an address. */
  of(address: string): number {
    return this.#clients.get(address)?.size ?? 0;
  }

  /** Every address takes turns until none gets another one. */
  async takeAll(addresses: readonly string[]): Promise<void> {
    for (let isAnyGranted = true; isAnyGranted;) {
      isAnyGranted = false;
      for (const address of addresses) {
        if (await this.subscribe(address)) isAnyGranted = true;
      }
    }
  }
}

function ipv4(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${first}.0.${n >> 8}.${n & 0xff}`);
}

/** The /64 networks of one /56, then of the next one. */
function ipv6(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `2001:db8:0:${n.toString(16)}::1`);
}

const RESIDENTS = 20;
const attacks: [name: string, attackers: string[], newcomers: number, each: number][] = [
  ["8 addresses", ipv4(10, 8), 100, WANTED],
  ["100 addresses", ipv4(10, 100), 100, WANTED],
  ["1,000 addresses", ipv4(10, 1_000), 100, 1],
  ["106 IPv6 /64s of one /56", ipv6(106), 100, WANTED],
  ["300 IPv6 /64s of one /48", ipv6(300), 100, WANTED],
];
for (const [name, attackers, newcomersMax, each] of attacks) {
  Deno.test(`Fair shares: while ${name} take all they can, each of ${newcomersMax} newcomers gets ${each}`, async () => {
    const crowd = new Crowd();
    const residents = ipv4(30, RESIDENTS);
    for (const address of residents) assert(await crowd.subscribe(address));
    await crowd.takeAll(attackers);
    const newcomers = ipv4(20, newcomersMax);
    for (const [index, address] of newcomers.entries()) {
      for (let n = 0; n < each; n += 1) assert(await crowd.subscribe(address), address);
      if (index % 10 === 9) await crowd.takeAll(attackers);
    }
    assert.deepEqual([...new Set(newcomers.map((address) => crowd.of(address)))], [each]);
    assert(crowd.hub.table.count <= PLACES);
    assert(residents.every((address) => crowd.of(address) === 1));
    const reasons = ["1013 Too many subscriptions: connect again with fewer"];
    assert.deepEqual([...new Set(crowd.closed)], crowd.closed.length > 0 ? reasons : []);
    assert.equal(
      crowd.refused.filter((limit) => limit === "subscription_displaced").length,
      crowd.closed.length,
    );
  });
}

Deno.test("Fair shares: while as many addresses as there are places have one each, a newcomer is refused and nobody is closed", async () => {
  const crowd = new Crowd();
  for (const address of ipv4(10, PLACES)) assert(await crowd.subscribe(address));
  assert.equal(await crowd.subscribe("20.0.0.1"), false);
  assert.deepEqual([crowd.refused, crowd.closed], [["upstream_subscriptions"], []]);
});

/** A hub with 16 places, or more, an eighth for each address, whose node answers when the test says so. */
class SmallHub {
  readonly closed: HubClient[] = [];
  readonly refused: string[] = [];
  readonly #asked: { id: number; params: string[] }[] = [];
  readonly hub: Hub;

  constructor(maxSubscriptions = 16) {
    this.hub = hubWith({
      random: seededRandom(1),
      maxSubscriptions,
      upstream: { send: (text) => this.#asked.push(JSON.parse(text)) > 0, drop: () => {} },
      events: { ...NO_EVENTS, refused: (limit) => this.refused.push(limit) },
    });
  }

  /** @param via The load balancer that names the address, if there is one. */
  client(from: string, via?: string): HubClient {
    const headers = new Headers(via === undefined ? {} : { "x-forwarded-for": from });
    const client: HubClient = this.hub.connect({
      ...OPEN_SINK,
      close: () => this.closed.push(client),
    }, callerAddress(headers, via ?? from, true));
    return client;
  }

  subscribe(client: HubClient, topic: string): void {
    this.hub.subscribe(client, topicRequest(topic), 0, () => {});
  }

  /** The node grants what it was asked for, under its topic. */
  grant(): void {
    for (const { id, params: [result] } of this.#asked.splice(0)) {
      this.hub.receive(JSON.stringify({ jsonrpc: "2.0", id, result }));
    }
  }

  /** Addresses take two places each. @param via The load balancer in front of them. */
  fill(addresses: number, via?: string): HubClient[] {
    return ipv4(10, addresses).map((address) => {
      const client = this.client(address, via);
      for (const n of [1, 2]) this.subscribe(client, `${address} ${n}`);
      return client;
    });
  }
}

Deno.test("Fair shares: a subscription counts for another client that uses it, once its owner has left", () => {
  const scene = new SmallHub();
  const [owner, other] = [scene.client("10.0.0.1"), scene.client("10.0.0.2")];
  for (const client of [owner, other]) {
    for (const topic of ["a", "b"]) scene.subscribe(client, topic);
  }
  scene.grant();
  scene.subscribe(owner, "c");
  assert.deepEqual(scene.refused, ["upstream_subscriptions_per_address"]);
  for (const topic of ["a", "b"]) scene.hub.unsubscribe(owner, topic);
  for (const topic of ["c", "d"]) scene.subscribe(owner, topic);
  assert.equal(scene.refused.length, 1);
  scene.subscribe(other, "e");
  assert.equal(scene.refused.length, 2);
});

Deno.test("Fair shares: a newcomer gets a place of the newest client with most, and none that the node is asked for", () => {
  const scene = new SmallHub();
  const clients = scene.fill(8);
  scene.subscribe(scene.client("20.0.0.1"), "new");
  assert.deepEqual(scene.refused, ["upstream_subscriptions"]);
  scene.grant();
  scene.subscribe(scene.client("20.0.0.1"), "new");
  assert.deepEqual(scene.closed, [clients[7]]);
  assert.equal(scene.hub.table.count, 15, "all its places are free");
});

Deno.test("Fair shares: a newcomer behind a full load balancer gets a place of another caller behind it", () => {
  const scene = new SmallHub();
  const clients = scene.fill(6, "192.0.2.9");
  for (const last of ["10.0.1.1", "10.0.1.2"]) {
    scene.subscribe(scene.client(last, "192.0.2.9"), last);
  }
  const direct = scene.client("30.0.0.1");
  for (const n of [1, 2]) scene.subscribe(direct, `direct ${n}`);
  scene.grant();
  assert.equal(scene.hub.table.count, 16);
  scene.subscribe(scene.client("20.0.0.1", "192.0.2.9"), "new");
  assert.deepEqual(scene.closed, [clients[5]]);
});

Deno.test("Fair shares: of the clients of one address, the one with most is closed, not one with a single one", () => {
  const scene = new SmallHub(32);
  const [single, several, newest] = [1, 2, 3].map(() => scene.client("10.0.0.1"));
  scene.subscribe(several!, "a");
  scene.subscribe(several!, "b");
  scene.subscribe(single!, "c");
  scene.subscribe(newest!, "d");
  for (const address of ipv4(20, 28)) scene.subscribe(scene.client(address), address);
  scene.grant();
  assert.equal(scene.hub.table.count, 32);
  scene.subscribe(scene.client("30.0.0.1"), "new");
  assert.deepEqual(scene.closed, [several]);
});
