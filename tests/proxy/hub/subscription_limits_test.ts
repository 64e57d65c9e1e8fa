/** Callers that subscribe as much as they can, beside newcomers and existing clients. */
import assert from "node:assert/strict";
import { callerAddress } from "../../../lib/http/caller_address.ts";
import { options } from "../../../services/proxy/options.ts";
import type { HubClient } from "../../../services/proxy/hub/subscriptions.ts";
import { HubScene, NO_EVENTS, OPEN_SINK } from "./hub_scene.ts";

/** As by default. */
const PLACES = Number(options.maxUpstreamSubscriptions.default);
/** Subscriptions that each newcomer would like to have. */
const WANTED = 3;

/** A hub whose node grants everything at once, and its callers. */
class Crowd extends HubScene {
  readonly closed: string[] = [];
  readonly refused: string[] = [];
  /** The clients of each address that has subscriptions: one for each subscription. */
  readonly #clients = new Map<string, Set<HubClient>>();
  #topics = 0;

  constructor() {
    super({
      maxSubscriptions: PLACES,
      events: { ...NO_EVENTS, onRefused: (limit) => this.refused.push(limit) },
    });
  }

  /** A new connection of an address makes a unique subscription. */
  async connect(address: string): Promise<boolean> {
    const clients = this.#clients.get(address) ?? new Set();
    this.#clients.set(address, clients);
    const client = this.hub.connect({
      ...OPEN_SINK,
      close: (code, reason) => {
        this.closed.push(`${code} ${reason}`);
        clients.delete(client);
      },
    }, callerAddress(new Headers(), address, false));
    const subscribed = this.subscribe(client, `topic ${this.#topics += 1}`);
    this.grant();
    const isGranted = "id" in await subscribed;
    if (isGranted) clients.add(client);
    else this.hub.disconnect(client);
    return isGranted;
  }

  of(address: string): number {
    return this.#clients.get(address)?.size ?? 0;
  }

  /** The addresses take turns until none gets another one. */
  async takeAll(addresses: readonly string[]): Promise<void> {
    for (let isAnyGranted = true; isAnyGranted;) {
      isAnyGranted = false;
      for (const address of addresses) {
        if (await this.connect(address)) isAnyGranted = true;
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
  Deno.test(`SubscriptionLimits: while ${name} subscribe as much as they can, each of ${newcomersMax} newcomers gets ${each}`, async () => {
    const crowd = new Crowd();
    const residents = ipv4(30, RESIDENTS);
    for (const address of residents) assert(await crowd.connect(address));
    await crowd.takeAll(attackers);
    const newcomers = ipv4(20, newcomersMax);
    for (const [index, address] of newcomers.entries()) {
      for (let n = 0; n < each; n += 1) assert(await crowd.connect(address), address);
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

Deno.test("SubscriptionLimits: if every place has another address, a newcomer is refused and nobody is closed", async () => {
  const crowd = new Crowd();
  for (const address of ipv4(10, PLACES)) assert(await crowd.connect(address));
  assert.equal(await crowd.connect("20.0.0.1"), false);
  assert.deepEqual([crowd.refused, crowd.closed], [["upstream_subscriptions"], []]);
});

/** A hub with 16 places or more, an eighth for each address; the test plays its node. */
class SmallHub extends HubScene {
  readonly closed: HubClient[] = [];
  readonly refused: string[] = [];

  constructor(maxSubscriptions = 16) {
    super({
      maxSubscriptions,
      events: { ...NO_EVENTS, onRefused: (limit) => this.refused.push(limit) },
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

  /** Addresses take two places each. @param via The load balancer in front of them. */
  fill(addresses: number, via?: string): HubClient[] {
    return ipv4(10, addresses).map((address) => {
      const client = this.client(address, via);
      for (const n of [1, 2]) void this.subscribe(client, `${address} ${n}`);
      return client;
    });
  }
}

Deno.test("SubscriptionLimits: a shared subscription is charged to another client after its owner left", () => {
  const scene = new SmallHub();
  const [owner, other] = [scene.client("10.0.0.1"), scene.client("10.0.0.2")];
  for (const client of [owner, other]) {
    for (const topic of ["a", "b"]) void scene.subscribe(client, topic);
  }
  scene.grant();
  void scene.subscribe(owner, "c");
  assert.deepEqual(scene.refused, ["upstream_subscriptions_per_address"]);
  for (const topic of ["a", "b"]) scene.hub.unsubscribe(owner, topic);
  for (const topic of ["c", "d"]) void scene.subscribe(owner, topic);
  assert.equal(scene.refused.length, 1);
  void scene.subscribe(other, "e");
  assert.equal(scene.refused.length, 2);
  scene.hub.unsubscribe(other, "a");
  void scene.subscribe(other, "e");
  assert.equal(scene.refused.length, 2, "one that has ended counts no more");
});

Deno.test("SubscriptionLimits: a newcomer gets a place of the newest client with the most, but no pending one", () => {
  const scene = new SmallHub();
  const clients = scene.fill(8);
  void scene.subscribe(scene.client("20.0.0.1"), "new");
  assert.deepEqual(scene.refused, ["upstream_subscriptions"]);
  scene.grant();
  void scene.subscribe(scene.client("20.0.0.1"), "new");
  assert.deepEqual(scene.closed, [clients[7]]);
  assert.equal(scene.hub.table.count, 15, "all its places are free");
});

Deno.test("SubscriptionLimits: while the node is away, there are never more subscriptions than places", () => {
  const scene = new SmallHub();
  scene.hub.onUpstreamClosed();
  const clients = scene.fill(8);
  void scene.subscribe(scene.client("20.0.0.1"), "new");
  assert.deepEqual(scene.closed, [clients[7]]);
  assert.equal(scene.hub.table.count, 16);
});

Deno.test("SubscriptionLimits: a newcomer behind a full load balancer gets a place of another caller behind it", () => {
  const scene = new SmallHub();
  const clients = scene.fill(6, "192.0.2.9");
  for (const last of ["10.0.1.1", "10.0.1.2"]) {
    void scene.subscribe(scene.client(last, "192.0.2.9"), last);
  }
  const direct = scene.client("30.0.0.1");
  for (const n of [1, 2]) void scene.subscribe(direct, `direct ${n}`);
  scene.grant();
  assert.equal(scene.hub.table.count, 16);
  void scene.subscribe(scene.client("20.0.0.1", "192.0.2.9"), "new");
  assert.deepEqual(scene.closed, [clients[5]]);
});

Deno.test("SubscriptionLimits: of the clients of one address, the one with the most subscriptions is closed", () => {
  const scene = new SmallHub(32);
  const [single, several, newest] = [1, 2, 3].map(() => scene.client("10.0.0.1"));
  void scene.subscribe(several!, "a");
  void scene.subscribe(several!, "b");
  void scene.subscribe(single!, "c");
  void scene.subscribe(newest!, "d");
  for (const address of ipv4(20, 28)) void scene.subscribe(scene.client(address), address);
  scene.grant();
  assert.equal(scene.hub.table.count, 32);
  void scene.subscribe(scene.client("30.0.0.1"), "new");
  assert.deepEqual(scene.closed, [several]);
});

Deno.test("SubscriptionLimits: of the subscriptions of one address, the one with fewer clients is ended", () => {
  const scene = new SmallHub(32);
  const [alone, shared] = [1, 2].map(() => scene.client("10.0.0.1"));
  void scene.subscribe(alone!, "a");
  void scene.subscribe(shared!, "b");
  void scene.subscribe(scene.client("10.0.0.2"), "b");
  for (const address of ipv4(20, 30)) void scene.subscribe(scene.client(address), address);
  scene.grant();
  assert.equal(scene.hub.table.count, 32);
  void scene.subscribe(scene.client("30.0.0.1"), "new");
  assert.deepEqual(scene.closed, [alone]);
});
