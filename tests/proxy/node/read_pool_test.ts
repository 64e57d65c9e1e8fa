/** Connections to real read nodes, with the decision which one leads. */
import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { ByteBudget, SMALL_BYTES } from "../../../services/proxy/shared/limits.ts";
import { ProxyMetrics } from "../../../services/proxy/shared/metrics.ts";
import { FAILURES_MAX, type ReadNodes } from "../../../services/proxy/node/read_nodes.ts";
import type { ReadNode } from "../../../services/proxy/node/read_node.ts";
import { HTTP_CONNECTIONS_MAX } from "../../../services/proxy/node/http_pool.ts";
import { PROBE_TIMEOUT_MS, ReadPool } from "../../../services/proxy/node/read_pool.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { call, readNodesOf } from "../support.ts";
import { type Asked, CHANGE, failed, READ, Server, TIMEOUT_MS } from "./http_pool_scene.ts";

/** Two nodes, of which the first leads. */
class Scene {
  readonly clock = new FakeClock();
  readonly moves: number[] = [];
  /** What each node answers; its own number by default. It leaves a request without one open. */
  answers: ((text: string) => Response | undefined)[] = [0, 1].map((node) => () =>
    Response.json(node)
  );
  readonly asked: [node: number, text: string][] = [];
  /** Requests without an answer. */
  readonly open: Asked[] = [];
  /** How long each node took for each request. */
  readonly ends: [node: number, tookMs: number][] = [];
  readonly nodes: ReadNodes;
  readonly pool: ReadPool;

  private constructor(readonly servers: readonly Server[], hosts: string) {
    for (const [node, server] of servers.entries()) {
      server.answer = (asked) => this.#answer(node, asked);
    }
    let created = 0;
    const upstreamLatencyOf = () => {
      const node = created++;
      return (seconds: number) => void this.ends.push([node, seconds * 1_000]);
    };
    this.nodes = readNodesOf(hosts, {
      clock: this.clock,
      onLeaderChange: (leader) => this.moves.push(leader.index),
    });
    this.pool = new ReadPool({
      nodes: this.nodes,
      timeoutMs: TIMEOUT_MS,
      clock: this.clock,
      budget: new ByteBudget(SMALL_BYTES),
      metrics: Object.assign(new ProxyMetrics(new Registry()), { upstreamLatencyOf }),
    });
  }

  async #answer(node: number, asked: Asked): Promise<void> {
    this.asked.push([node, asked.text]);
    const answer = this.answers[node]?.(asked.text);
    if (answer === undefined) this.open.push(asked);
    else asked.response.writeHead(answer.status).end(await answer.text());
  }

  /** Posts a message that may move. @returns Which node answered. */
  async read(node?: ReadNode): Promise<string> {
    return ((await this.pool.post("{}", { ...READ, node })).body);
  }

  at(index: number): ReadNode {
    return this.nodes.all[index] ?? assert.fail();
  }

  /** How many requests each node got. */
  get counts(): number[] {
    return [0, 1].map((node) => this.asked.filter(([asked]) => asked === node).length);
  }

  /** Reads of each node, and how many of them failed. */
  get reads(): [reads: number, errors: number][] {
    return this.nodes.all.map(({ totals }) => [totals.reads, totals.errors]);
  }

  static async play(play: (scene: Scene) => Promise<void>): Promise<void> {
    const servers = [0, 1].map(() => new Server(() => {}));
    const ports = await Promise.all(servers.map((server) => server.listen()));
    const scene = new Scene(servers, ports.map((port) => `127.0.0.1:${port}`).join(" "));
    try {
      await play(scene);
    } finally {
      scene.pool.stop();
      for (const server of servers) await server.stop();
      assert.equal(scene.clock.pending, 0, "A timer was left behind");
    }
  }
}

const blockOf = (number: string, timestamp = "0x10") => ({ number, timestamp, hash: number });
const answerTo = (text: string, result: unknown) =>
  Response.json({ jsonrpc: "2.0", id: JSON.parse(text).id, result });

Deno.test("ReadPool: a read is sent to the leader, or to the required node", () =>
  Scene.play(async (scene) => {
    const { pool } = scene;
    const read = (node?: ReadNode) => pool.post("{}", { ...READ, node });
    assert.deepEqual([(await read()).body, (await read(scene.at(1))).body], ["0", "1"]);
    assert.deepEqual(scene.nodes.all.map(({ totals }) => totals.reads), [1, 1]);
    scene.nodes.onDied(scene.at(0), "gone");
    assert.equal((await read()).body, "1");
    await assert.rejects(read(readNodesOf("c").leader), RangeError);
  }));

Deno.test("ReadPool: a refusal counts as a failure of the node, and another node answers", () =>
  Scene.play(async (scene) => {
    for (const status of [429, 500, 503]) {
      scene.answers[0] = () => new Response("busy", { status });
      assert.equal(await scene.read(), "1", `${status}`);
    }
    assert.deepEqual(scene.reads, [[3, 3], [3, 0]]);
    scene.answers[0] = () => new Response("no", { status: 400 });
    assert.equal(await scene.read(), "no");
    assert.deepEqual(scene.reads, [[4, 3], [3, 0]]);
    scene.answers = [0, 1].map((node) => () => new Response(`busy ${node}`, { status: 503 }));
    assert.equal(await scene.read(), "busy 1", "the answer of the second one, which is the last");
    assert.deepEqual(scene.reads, [[5, 4], [4, 1]]);
    assert.deepEqual(scene.moves, []);
  }));

Deno.test("ReadPool: a failed read of a block is answered by a node that has the block, or by none", () =>
  Scene.play(async (scene) => {
    scene.nodes.onHead(scene.at(0), { number: 101, timestampS: 0 });
    scene.nodes.onHead(scene.at(1), { number: 100, timestampS: 0 });
    scene.answers[0] = () => new Response("busy", { status: 503 });
    const read = async (...blocks: number[]) =>
      (await scene.pool.post("{}", { ...READ, blocks })).body;
    assert.equal(await read(100), "1");
    assert.equal(await read(), "1");
    assert.equal(await read(101), "busy", "without the block, its logs would look empty");
    assert.equal(await read(102), "1", "no node has it yet");
    assert.equal(await read(102, 101, 100), "busy", "one of them exists");
    await scene.servers[0]!.stop();
    await assert.rejects(read(101), { status: 502 });
    assert.deepEqual(scene.moves, [1]);
  }));

Deno.test("ReadPool: a slow or large read is not a failure of its node", () =>
  Scene.play(async (scene) => {
    scene.answers[0] = () => undefined;
    const slow = assert.rejects(scene.read(), { status: 504, rpcCode: -32002 });
    await eventually("it was sent", () => scene.counts[0]);
    scene.clock.advance(TIMEOUT_MS);
    await slow;
    scene.answers[0] = () => new Response("x".repeat(SMALL_BYTES + 1));
    await assert.rejects(scene.read(), { status: 429, rpcCode: -32005 });
    assert.deepEqual([scene.reads, scene.moves], [[[0, 0], [0, 0]], []]);
    assert.equal(scene.counts[1], 0, "another node would take as long");
  }));

Deno.test("ReadPool: a node to which all connections are in use keeps leading, and another one answers", () =>
  Scene.play(async (scene) => {
    scene.answers[0] = () => undefined;
    const open = Promise.allSettled(
      Array.from({ length: HTTP_CONNECTIONS_MAX }, () => scene.read()),
    );
    assert.equal(await scene.read(), "1");
    assert.deepEqual([scene.moves, scene.reads[0], scene.at(0).isDead], [[], [0, 0], false]);
    scene.pool.stop();
    await open;
  }));

Deno.test("ReadPool: a node that refuses connections is replaced at once", () =>
  Scene.play(async (scene) => {
    await scene.servers[0]!.stop();
    assert.equal(await scene.read(), "1");
    assert.deepEqual([scene.reads, scene.moves], [[[1, 1], [1, 0]], [1]]);
    assert(scene.at(0).isDead);
    assert.equal(await scene.read(), "1");
    assert.deepEqual(scene.reads[0], [1, 1]);
  }));

Deno.test("ReadPool: a probe reads the newest block of its node", () =>
  Scene.play(async (scene) => {
    const asked: unknown[] = [];
    scene.answers[1] = (text) => {
      asked.push(JSON.parse(text));
      scene.clock.jump(40);
      return answerTo(text, blockOf("0x1f"));
    };
    await scene.pool.probe(scene.at(1));
    assert.deepEqual(asked, [call(1, "eth_getBlockByNumber", ["latest", false])]);
    assert.deepEqual([scene.at(1).head?.number, scene.at(1).probeMs], [
      31,
      40,
    ]);
    assert.deepEqual([scene.at(0).head?.number, scene.reads], [undefined, [[0, 0], [
      0,
      0,
    ]]]);
  }));

Deno.test("ReadPool: after several probes with a late or wrong answer, a node is dead: its open reads move, other requests fail", () =>
  Scene.play(async (scene) => {
    const wrong = [blockOf("31"), { timestamp: "0x1f" }, null];
    scene.answers[0] = (text) => answerTo(text, wrong.pop());
    await scene.pool.post("{}", { ...READ, node: scene.at(0) });
    for (let n = 1; n < FAILURES_MAX; n += 1) await scene.pool.probe(scene.at(0));
    assert.equal(scene.at(0).isDead, false);
    scene.answers[0] = () => undefined;
    const reads = [scene.read(), scene.read()]; // one of them on a connection that was used before
    const change = assert.rejects(scene.pool.post("{}", CHANGE), failed("sent", "abandoned"));
    const probe = scene.pool.probe(scene.at(0));
    await eventually("all were sent", () => scene.open.length === 4);
    scene.clock.advance(PROBE_TIMEOUT_MS);
    await probe;
    assert(scene.at(0).isDead);
    assert.deepEqual(scene.moves, [1]);
    await change;
    assert.deepEqual(await Promise.all(reads), ["1", "1"]);
    assert.deepEqual([scene.open.length, scene.counts[1]], [4, 2], "nothing else is sent");
  }));

Deno.test("ReadPool: a node whose probes get an error status is removed with that status as the reason", () =>
  Scene.play(async ({ pool, nodes, answers }) => {
    answers[0] = () => new Response("Too many requests", { status: 429 });
    for (let n = 0; n < FAILURES_MAX; n += 1) await pool.probe(nodes.leader);
    assert.deepEqual([nodes.leader.index, nodes.all[0]?.downReason], [1, "HTTP status 429"]);
  }));

Deno.test("ReadPool: a refused probe marks a node as dead, and after stop nothing is reported", () =>
  Scene.play(async (scene) => {
    await scene.servers[1]!.stop();
    await scene.pool.probe(scene.at(1));
    assert.deepEqual([scene.at(0).isDead, scene.at(1).isDead], [false, true]);
    const probe = scene.pool.probe(scene.at(0));
    const read = assert.rejects(scene.read(scene.at(0)), { status: 502, rpcCode: -32002 });
    scene.pool.stop();
    await Promise.all([probe, read]);
    assert.deepEqual([scene.at(0).isDead, scene.reads[0]], [false, [0, 0]]);
    assert.equal(scene.counts[1], 0, "nothing moves any more");
  }));

Deno.test("ReadPool: each node's duration is its own; a moved read on a stale connection is sent again", () =>
  Scene.play(async (scene) => {
    const { clock, pool, asked, open, ends } = scene;
    scene.answers[0] = () => undefined;
    let broken = 0;
    /** The node closes the connection of the next request without an answer. */
    const breakOff = async (afterMs: number) => {
      await eventually("it was sent", () => open.length > broken);
      clock.advance(afterMs);
      open[broken]?.response.socket?.destroy();
      broken += 1;
    };
    const first = pool.post("read", READ);
    await breakOff(100);
    assert.equal((await first).body, "1");
    assert.deepEqual(ends.splice(0), [[0, 100], [1, 0]]);
    const [, answer] = scene.answers;
    scene.answers[1] = () => void (scene.answers[1] = answer ?? assert.fail());
    const second = pool.post("read", READ);
    for (const afterMs of [100, 0]) await breakOff(afterMs);
    assert.equal((await second).body, "1");
    assert.deepEqual(ends, [[0, 100], [1, 0]]);
    assert.deepEqual(asked.map(([node]) => node), [0, 1, 0, 1, 1]);
  }));
