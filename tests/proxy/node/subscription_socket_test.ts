/** The hub's connection to real nodes, under a clock that the test moves. */
import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { Backoff } from "../../../lib/timing/backoff.ts";
import { BoundedSocket } from "../../../lib/net/bounded_socket.ts";
import type { ReadNode } from "../../../services/proxy/node/read_node.ts";
import { SubscriptionSocket } from "../../../services/proxy/node/subscription_socket.ts";
import { ProxyMetrics } from "../../../services/proxy/shared/metrics.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { EchoNode } from "../echo_node.ts";
import { readNodesOf } from "../support.ts";

const RECONNECT_MS = 100;

type Happened = ["opened" | "lost", number] | ["refused" | "moved"];

class Scene {
  readonly nodes = [new EchoNode(), new EchoNode()];
  readonly clock = new FakeClock();
  readonly happened: Happened[] = [];
  readonly frames: string[] = [];
  readonly #group = readNodesOf(this.nodes.map(({ url }) => new URL(url).host).join(" "));
  leader = this.#group.leader;
  readonly #metrics = new ProxyMetrics(new Registry());
  readonly upstream = new SubscriptionSocket({
    nodes: this,
    hub: this,
    delivery: { flushSoon() {} },
    probeRounds: { onConnected() {}, onHead() {} },
    socket: {
      clock: this.clock,
      backoff: new Backoff({
        initialMs: RECONNECT_MS,
        maxMs: 4 * RECONNECT_MS,
        random: () => 0.5,
      }),
      connect: (url) => new BoundedSocket(url, { maxMessageBytes: 1_024, clock: this.clock }),
    },
    metrics: this.#metrics,
  });

  onHead = () => true;
  onUpstreamOpened = () => {};
  onUpstreamRejected = () => this.happened.push(["refused"]);
  /** Because another node leads, unless {@link onSocketLost} follows. */
  onUpstreamClosed = () => this.happened.push(["moved"]);
  onSocketOpened = (node: ReadNode) => this.happened.push(["opened", node.index]);
  onSocketLost = (node: ReadNode) => this.happened.splice(-1, 1, ["lost", node.index]);
  receive = (text: string) => this.frames.push(text) > 0 && text.startsWith("{");

  lead(index: number): void {
    this.leader = this.#group.all[index] ?? assert.fail();
  }

  /** The events since the last call, once there are this many. */
  async next(count = 1): Promise<Happened[]> {
    await eventually("something happened", () => this.happened.length >= count);
    return this.happened.splice(0);
  }

  /** Gauge of the connection, attempts after the first, and errors. */
  async counts(): Promise<(number | undefined)[]> {
    const { registry, sockets, upstreamErrors } = this.#metrics;
    const gauge = registry.getSingleMetric("proxy_broadcast_upstream_connected");
    const all = await Promise.all(
      [gauge, sockets.reconnectAttempts, upstreamErrors].map((metric) => metric?.get()),
    );
    return all.map((metric) => metric?.values[0]?.value ?? 0);
  }

  async reconnects(): Promise<number | undefined> {
    return (await this.#metrics.sockets.reconnects.get()).values[0]?.value;
  }

  static async play(play: (scene: Scene) => Promise<void>): Promise<void> {
    const scene = new Scene();
    scene.upstream.connection.start();
    try {
      await play(scene);
    } finally {
      scene.upstream.connection.stop();
      await Promise.all(scene.nodes.map((node) => node.stop()));
      assert.equal(scene.clock.pending, 0, "A timer was left behind");
    }
  }
}

Deno.test("SubscriptionSocket: an outage is logged once and counts as one reconnect, whatever the number of attempts", () =>
  withLogs("info", (records) =>
    Scene.play(async (scene) => {
      const { upstream, nodes, clock } = scene;
      const next = () => eventually("an event", () => scene.happened.shift());
      assert.deepEqual([await scene.counts(), upstream.connection.isConnected], [[0, 0, 0], false]);
      assert.equal(upstream.connection.send("too early"), false);
      assert.deepEqual(await next(), ["opened", 0]);
      assert.deepEqual([await scene.counts(), upstream.connection.isConnected], [[1, 0, 0], true]);
      assert.equal(await scene.reconnects(), 0);
      const { port } = nodes[0]!;
      await nodes[0]!.stop();
      for (let attempt = 0; attempt < 3; attempt += 1) {
        assert.deepEqual(await next(), ["lost", 0]);
        assert.deepEqual(await scene.counts(), [0, attempt, 1 + attempt]);
        clock.advance(10 * RECONNECT_MS);
      }
      await next();
      nodes[0] = new EchoNode({ port });
      clock.advance(10 * RECONNECT_MS);
      await next();
      assert.deepEqual(records.map(({ properties }) => properties.event), [
        "node_connected",
        "node_lost",
        "node_back",
      ]);
      assert.deepEqual([await scene.reconnects(), await scene.counts()], [1, [1, 4, 4]]);
      upstream.connection.drop("silent");
      assert.deepEqual(await next(), ["lost", 0]);
    })));

Deno.test("SubscriptionSocket: sends and receives frames, and counts frames that are not JSON-RPC as errors", () =>
  Scene.play(async (scene) => {
    await scene.next();
    assert.equal(scene.upstream.connection.send('{"id":1,"method":"eth_chainId"}'), true);
    await eventually("the answer", () => scene.frames.length === 1);
    assert.deepEqual(await scene.counts(), [1, 0, 0]);
    scene.nodes[0]!.sendRaw("no JSON");
    await eventually("the frame", () => scene.frames.length === 2);
    assert.deepEqual(await scene.counts(), [1, 0, 1]);
  }));

Deno.test("SubscriptionSocket: five close codes are treated as a refusal of the sent message", () =>
  Scene.play(async (scene) => {
    await scene.next();
    const refusals = [1002, 1003, 1007, 1008, 1009];
    for (const code of [1000, 1001, ...refusals, 1011, 3008]) {
      scene.nodes[0]!.dropSockets(code);
      const wanted = refusals.includes(code) ? ["refused"] : ["lost", 0];
      assert.deepEqual(await scene.next(), [wanted], `${code}`);
      scene.clock.advance(10 * RECONNECT_MS);
      await scene.next();
    }
  }));

Deno.test("SubscriptionSocket: moves to a new leader at once, without an error of the old one", () =>
  Scene.play(async (scene) => {
    const { upstream, nodes } = scene;
    await scene.next();
    upstream.followLeader();
    assert.deepEqual(scene.happened, [], "it is connected to the leader");
    scene.lead(1);
    upstream.followLeader();
    assert.deepEqual(await scene.next(2), [["moved"], ["opened", 1]]);
    assert(upstream.connection.isConnected);
    assert.deepEqual(await scene.counts(), [1, 1, 0]);
    assert.equal(await scene.reconnects(), 0, "the first node's connection was not lost");
    await eventually("the other one is left", () => nodes[0]!.connections === 0);
    nodes[1]!.dropSockets();
    assert.deepEqual(await scene.next(), [["lost", 1]]);
    scene.lead(0);
    scene.clock.advance(RECONNECT_MS);
    assert.deepEqual(await scene.next(), [["opened", 0]], "every attempt asks for the leader");
  }));

Deno.test("SubscriptionSocket: waits grow while no node can be reached, and start over after a move", () =>
  Scene.play(async (scene) => {
    const { upstream, nodes, clock } = scene;
    await scene.next();
    await nodes[0]!.stop();
    assert.deepEqual(await scene.next(), [["lost", 0]]);
    /** The wait before the next attempt, which fails. */
    const waitMs = async () => {
      let ms = 0;
      const [, before] = await scene.counts();
      while ((await scene.counts())[1] === before) {
        assert(ms < 10 * RECONNECT_MS, "No further attempt");
        clock.advance(1);
        ms += 1;
      }
      await scene.next();
      return ms;
    };
    const waits = [await waitMs(), await waitMs()];
    assert(waits[1]! > waits[0]!, `${waits}`);
    scene.lead(1);
    upstream.followLeader();
    assert.deepEqual(await scene.next(), [["opened", 1]], "without waiting");
    nodes[1]!.dropSockets();
    await scene.next();
    scene.lead(0);
    assert.equal(await waitMs(), waits[0]);
  }));
