/** Subscriptions to the theses of some user or solver, which the hub selects from all theses. */
import assert from "node:assert/strict";
import type { HubClient } from "../../../services/proxy/hub/subscriptions.ts";
import { parseSubscriptionRequest } from "../../../services/proxy/hub/subscription_request.ts";
import { withSeed } from "../../support/random.ts";
import { address, HubScene, OPEN_SINK } from "./hub_scene.ts";

/** Addresses as the node writes them, with capitals. */
const PARTIES = ["Aa", "Bb", "Cc"].map((byte) => `0x${byte.repeat(20)}`);
const [ALICE = "", BOB = ""] = PARTIES;

/** The bound of subscriptions at the node; that of filters is 16 times as high. */
const PLACES = 80;

interface Filter {
  user?: string;
  solver?: string;
}

interface Thesis extends Filter {
  number: number;
}

function matches({ user, solver }: Filter, thesis: Thesis): boolean {
  const isSame = (wanted = "", party = "") => wanted.toLowerCase() === party.toLowerCase();
  return (user === undefined || isSame(user, thesis.user)) &&
    (solver === undefined || isSame(solver, thesis.solver));
}

/** A hub, and the theses that its node announces. */
class Scene extends HubScene<[string, Filter?]> {
  /** What clients got: the id of the subscription and the number of the thesis. */
  readonly got: string[] = [];
  readonly closed: string[] = [];
  readonly granted = new Map<string, [string, Filter?]>();
  #clients = 0;
  #grants = 0;

  constructor() {
    super({ capacity: 64, maxSubscriptions: PLACES });
  }

  client(): HubClient {
    return this.hub.connect({
      ...OPEN_SINK,
      send: (messages) => {
        for (const { text } of messages) {
          const { subscription, result } = JSON.parse(text).params;
          this.got.push(`${subscription} ${result.number}`);
        }
      },
      close: (_code, reason) => this.closed.push(reason),
    }, address(`192.0.2.${this.#clients += 1}`));
  }

  follow(
    client: HubClient,
    filter?: Filter,
    nowMs = 0,
  ): Promise<{ id?: string; errorText?: string }> {
    const params = filter === undefined ? ["theses"] : ["theses", filter];
    const request = parseSubscriptionRequest("eth", { paramsText: JSON.stringify(params), params });
    return new Promise((resolve) => this.hub.subscribe(client, request, nowMs, resolve));
  }

  /** The node answers everything that it was asked. */
  answer(error?: object): void {
    for (const { id, method, params } of this.requests.splice(0)) {
      if (method === "eth_unsubscribe") {
        this.granted.delete(params[0]);
        continue;
      }
      const result = `0x${(this.#grants += 1).toString(16)}`;
      if (error === undefined) this.granted.set(result, params);
      this.reply(id, error === undefined ? { result } : { error });
    }
  }

  /** @returns Whether the hub understood every notification. */
  announce(thesis: Thesis): boolean {
    let isUnderstood = true;
    for (const [subscription, [, filter = {}]] of this.granted) {
      if (!matches(filter, thesis)) continue;
      isUnderstood = this.notify(subscription, thesis) && isUnderstood;
    }
    this.hub.flush();
    return isUnderstood;
  }

  reconnect(): void {
    this.#reopen(() => this.hub.onUpstreamClosed());
  }

  /** The node closes the socket because of a request. */
  refuse(): void {
    this.#reopen(() => this.hub.onUpstreamRejected(0));
  }

  #reopen(close: () => void): void {
    this.granted.clear();
    this.requests.length = 0;
    close();
    this.hub.onUpstreamOpened(this.upstream, 0);
  }
}

Deno.test("Hub, thesis filters: random clients get the theses that match their filter, while the node has no filter", () =>
  withSeed(async (random) => {
    const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)]!;
    const filters: Filter[] = [{}];
    for (const user of PARTIES) {
      filters.push({ user: user.toLowerCase() }, { solver: user });
      for (const solver of PARTIES) filters.push({ user, solver: solver.toLowerCase() });
    }
    const scene = new Scene();
    const clients = Array.from({ length: 4 }, () => scene.client());
    const open: { client: HubClient; id: string; filter: Filter }[] = [];
    for (let number = 0; number < 500; number += 1) {
      const draw = random();
      if (draw < 0.25) {
        const [client, filter] = [pick(clients), pick(filters)];
        const outcome = scene.follow(client, filter);
        scene.answer();
        const { id } = await outcome;
        if (id !== undefined) open.push({ client, id, filter });
      } else if (draw < 0.4 && open.length > 0) {
        const [own] = open.splice(Math.floor(random() * open.length), 1);
        assert(own && scene.hub.unsubscribe(own.client, own.id));
        scene.answer();
      } else if (draw < 0.45) {
        scene.reconnect();
        scene.answer();
      } else {
        const thesis = { user: pick(PARTIES), solver: pick(PARTIES), number };
        assert(scene.announce(thesis));
        const selected = open.filter(({ filter }) => matches(filter, thesis));
        const expected = selected.map(({ id }) => `${id} ${number}`);
        assert.deepEqual(scene.got.splice(0).sort(), expected.sort());
      }
      for (const params of scene.granted.values()) assert.deepEqual(params, ["theses"]);
    }
    for (const client of clients) scene.hub.disconnect(client);
    scene.answer();
    assert.equal(scene.granted.size, 0);
    const nothing = { subscriptions: 0, upstreamIds: 0, publicIds: 0, requests: 0 };
    assert.deepEqual({ ...scene.hub.table.size, requests: 0 }, nothing);
  }));

Deno.test("Hub, thesis filters: a newcomer gets a place when the only client of other filters is disconnected for it", async () => {
  const scene = new Scene();
  const filter = (n: number) => ({ user: `0x${n.toString(16).padStart(40, "0")}` });
  const owners = Array.from({ length: 8 }, () => scene.client());
  const heir = scene.client();
  const outcomes = Array.from({ length: 16 * PLACES }, (_, n) => [
    scene.follow(owners[n % 8]!, filter(n)),
    scene.follow(heir, filter(n)),
  ]);
  scene.answer();
  const made = await Promise.all(outcomes.flat());
  assert(made.every(({ id }) => id !== undefined), "16 times as many as at the node");
  for (const owner of owners) scene.hub.disconnect(owner);
  const newcomer = scene.follow(scene.client(), filter(9_999));
  scene.answer();
  assert.equal(typeof (await newcomer).id, "string");
  assert.deepEqual(scene.closed, ["Too many subscriptions: connect again with fewer"]);
  const { subscriptions, publicIds } = scene.hub.table.size;
  assert.deepEqual({ subscriptions, publicIds }, { subscriptions: 2, publicIds: 2 });
});

Deno.test("Hub, thesis filters: if the node refuses or closes the socket, every client gets that answer", async () => {
  const error = { code: -32602, message: "No such subscription" };
  for (const outcome of ["refused", "closed"] as const) {
    const scene = new Scene();
    const answers = [{ user: ALICE }, { solver: BOB }, undefined].map((filter) =>
      scene.follow(scene.client(), filter)
    );
    if (outcome === "refused") scene.answer(error);
    else scene.refuse();
    const expected = outcome === "refused" ? JSON.stringify(error) : /closed its connection/;
    for (const { errorText = "" } of await Promise.all(answers)) {
      if (typeof expected === "string") assert.equal(errorText, expected);
      else assert.match(errorText, expected);
    }
    assert.equal(scene.hub.table.size.subscriptions, 0);
    // A feed on which the node closed the socket is not asked for again for ten seconds.
    for (const [nowMs, isRefused] of [[9_999, outcome === "closed"], [10_000, false]] as const) {
      const again = scene.follow(scene.client(), { user: ALICE }, nowMs);
      scene.answer();
      assert.equal((await again).id === undefined, isRefused);
    }
  }
});

Deno.test("Hub, thesis filters: a thesis without user or solver is counted as an error of the node", async () => {
  for (const thesis of [{ user: "alice", solver: BOB }, { user: ALICE }, { solver: BOB }, {}]) {
    const scene = new Scene();
    const client = scene.client();
    const outcomes = [{ user: ALICE }, {}].map((filter) => scene.follow(client, filter));
    scene.answer();
    const [, all] = await Promise.all(outcomes);
    assert.equal(scene.announce({ ...thesis, number: 1 }), false);
    assert.deepEqual(scene.got, [`${all?.id} 1`]);
  }
});
