/** Connections to real read nodes, with the decision which one leads. */
import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { ByteBudget, SMALL_BYTES } from "../../../services/proxy/shared/limits.ts";
import { ProxyMetrics } from "../../../services/proxy/shared/metrics.ts";
import { FAILURES_MAX, type ReadNodes } from "../../../services/proxy/node/read_nodes.ts";
import { HTTP_CONNECTIONS_MAX } from "../../../services/proxy/node/http_pool.ts";
import { PROBE_TIMEOUT_MS, ReadPool } from "../../../services/proxy/node/read_pool.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { EchoNode } from "../echo_node.ts";
import { call, readNodesOf } from "../support.ts";
import { type Asked, CHANGE, echo, failed, READ, Server, TIMEOUT_MS } from "./http_pool_scene.ts";

/** Two nodes, of which the first leads. */
class Scene {
  readonly clock = new FakeClock();
  readonly moves: number[] = [];
  /** An answer that does not come while the scene is played. */
  readonly never = Promise.withResolvers<Response>();
  /** What each node answers; its own number by default. */
  answers: ((text: string) => Response | Promise<Response>)[] = [0, 1].map((node) => () =>
    Response.json(node)
  );
  readonly servers = [0, 1].map((node) =>
    new EchoNode({ answer: (text) => (this.answers[node] ?? assert.fail())(text) })
  );
  readonly nodes = readNodesOf("a b", {
    clock: this.clock,
    onLeaderChange: (leader) => this.moves.push(leader),
  });
  readonly pool = new ReadPool({
    urls: this.servers.map(({ url }) => url),
    nodes: this.nodes,
    timeoutMs: TIMEOUT_MS,
    clock: this.clock,
    budget: new ByteBudget(SMALL_BYTES),
    metrics: new ProxyMetrics(new Registry()),
  });

  /** Posts a message that may move. @returns Which node answered. */
  async read(node?: number): Promise<string> {
    return ((await this.pool.post("{}", { forwardedFor: "x", isPlain: true, node })).body);
  }

  get counts(): number[] {
    return this.servers.map(({ requests }) => requests.length);
  }

  /** Reads of each node, and how many of them failed. */
  get reads(): [reads: number, errors: number][] {
    return this.nodes.states.map(({ totals }) => [totals.reads, totals.errors]);
  }

  static async play(play: (scene: Scene) => Promise<void>): Promise<void> {
    const scene = new Scene();
    try {
      await play(scene);
    } finally {
      scene.pool.stop();
      scene.never.resolve(new Response());
      for (const server of scene.servers) await server.stop();
      assert.equal(scene.clock.pending, 0, "A timer was left behind");
    }
  }
}

const blockOf = (number: string, timestamp = "0x10") => ({ number, timestamp, hash: number });
const answerTo = (text: string, result: unknown) =>
  Response.json({ jsonrpc: "2.0", id: JSON.parse(text).id, result });

Deno.test("ReadPool: a read is sent to the leader, or to the required node", () =>
  Scene.play(async ({ pool, reads, ...scene }) => {
    const read = (node?: number) => pool.post("{}", { forwardedFor: "x", isPlain: true, node });
    assert.deepEqual([(await read()).body, (await read(1)).body], ["0", "1"]);
    assert.deepEqual(reads, [[0, 0], [0, 0]]);
    assert.deepEqual(scene.nodes.states.map(({ totals }) => totals.reads), [1, 1]);
    scene.nodes.onDied(0, "gone");
    assert.equal((await read()).body, "1");
    await assert.rejects(read(2), RangeError);
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
    scene.nodes.onHead(0, { number: 101, timestampS: 0 });
    scene.nodes.onHead(1, { number: 100, timestampS: 0 });
    scene.answers[0] = () => new Response("busy", { status: 503 });
    const read = async (block?: number) =>
      (await scene.pool.post("{}", { forwardedFor: "x", isPlain: true, block })).body;
    assert.equal(await read(100), "1");
    assert.equal(await read(), "1");
    assert.equal(await read(101), "busy", "without the block, its logs would look empty");
    assert.equal(await read(102), "1", "no node has it yet");
    await scene.servers[0]!.stop();
    await assert.rejects(read(101), { status: 502 });
    assert.deepEqual(scene.moves, [1]);
  }));

Deno.test("ReadPool: a slow or large read is not a failure of its node", () =>
  Scene.play(async (scene) => {
    scene.answers[0] = () => scene.never.promise;
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
    scene.answers[0] = () => scene.never.promise;
    const open = Promise.allSettled(
      Array.from({ length: HTTP_CONNECTIONS_MAX }, () => scene.read()),
    );
    assert.equal(await scene.read(), "1");
    assert.deepEqual([scene.moves, scene.reads[0], scene.nodes.isDead(0)], [[], [0, 0], false]);
    scene.pool.stop();
    await open;
  }));

Deno.test("ReadPool: a node that refuses connections is replaced at once", () =>
  Scene.play(async (scene) => {
    await scene.servers[0]!.stop();
    assert.equal(await scene.read(), "1");
    assert.deepEqual([scene.reads, scene.moves], [[[1, 1], [1, 0]], [1]]);
    assert(scene.nodes.isDead(0));
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
    await scene.pool.probe(1);
    assert.deepEqual(asked, [call(1, "eth_getBlockByNumber", ["latest", false])]);
    assert.deepEqual([scene.nodes.states[1]?.head?.number, scene.nodes.states[1]?.probeMs], [
      31,
      40,
    ]);
    assert.deepEqual([scene.nodes.states[0]?.head?.number, scene.reads], [undefined, [[0, 0], [
      0,
      0,
    ]]]);
  }));

Deno.test("ReadPool: a node is dead after several probes with a late or wrong answer", () =>
  Scene.play(async (scene) => {
    const wrong = [blockOf("31"), { timestamp: "0x1f" }, null];
    scene.answers[0] = (text) => answerTo(text, wrong.pop());
    const open = scene.pool.post("{}", { forwardedFor: "x", isPlain: true, node: 0 });
    await open;
    for (let n = 1; n < FAILURES_MAX; n += 1) await scene.pool.probe(0);
    assert.equal(scene.nodes.isDead(0), false);
    scene.answers[0] = () => scene.never.promise;
    const reads = [scene.read(), scene.read()];
    const probe = scene.pool.probe(0);
    const sent = 1 + FAILURES_MAX - 1 + 3;
    await eventually("all were sent", () => scene.counts[0] === sent);
    scene.clock.advance(PROBE_TIMEOUT_MS);
    await probe;
    assert(scene.nodes.isDead(0));
    assert.deepEqual(scene.moves, [1]);
    assert.deepEqual(await Promise.all(reads), ["1", "1"], "its open reads move");
  }));

Deno.test("ReadPool: a refused probe marks a node as dead, and after stop nothing is reported", () =>
  Scene.play(async (scene) => {
    await scene.servers[1]!.stop();
    await scene.pool.probe(1);
    assert.deepEqual([scene.nodes.isDead(0), scene.nodes.isDead(1)], [false, true]);
    const probe = scene.pool.probe(0);
    const read = assert.rejects(scene.read(0), { status: 502, rpcCode: -32002 });
    scene.pool.stop();
    await Promise.all([probe, read]);
    assert.deepEqual([scene.nodes.isDead(0), scene.reads[0]], [false, [0, 0]]);
    assert.equal(scene.counts[1], 0, "nothing moves any more");
  }));

// Reads that move to another node.

interface FailoverScene {
  clock: FakeClock;
  nodes: ReadNodes;
  pool: ReadPool;
  asked: string[];
  /** Requests that the first node got and has not answered. */
  open: Asked[];
  /** How long each node took for each request. */
  ends: [node: number, tookMs: number][];
  second: Server;
}

/** Plays with a leader that answers nothing by itself, and another node that echoes. */
async function playFailover(scene: (scene: FailoverScene) => Promise<void>): Promise<void> {
  const [asked, open]: [string[], Asked[]] = [[], []];
  const ends: FailoverScene["ends"] = [];
  const first = new Server((each) => {
    asked.push(`first ${each.text}`);
    open.push(each);
  });
  const second = new Server((each) => {
    asked.push(`second ${each.text}`);
    echo(each);
  });
  const servers = [first, second];
  const clock = new FakeClock();
  let created = 0;
  const metrics = Object.assign(new ProxyMetrics(new Registry()), {
    upstreamLatencyOf() {
      const node = created++;
      return (seconds: number) => void ends.push([node, seconds * 1_000]);
    },
  });
  const nodes = readNodesOf("a b", { clock });
  const pool = new ReadPool({
    urls: await Promise.all(servers.map(async (s) => `http://127.0.0.1:${await s.listen()}`)),
    nodes,
    timeoutMs: TIMEOUT_MS,
    clock,
    budget: new ByteBudget(Infinity),
    metrics,
  });
  try {
    await scene({ clock, nodes, pool, second, asked, open, ends });
  } finally {
    pool.stop();
    for (const server of servers) await server.stop();
    assert.equal(clock.pending, 0, "A timer was left behind");
  }
}

/** The first node answers no probe in time, as often as makes it dead. */
async function stopAnswering({ clock, nodes, pool, open }: FailoverScene): Promise<void> {
  while (!nodes.isDead(0)) {
    const count = open.length;
    const probe = pool.probe(0);
    await eventually("it was sent", () => open.length > count);
    clock.advance(PROBE_TIMEOUT_MS);
    await probe;
  }
}

Deno.test("ReadPool: when a node stops answering probes, its open reads move and other requests fail", () =>
  playFailover(async (scene) => {
    const { pool, asked, open } = scene;
    const [read, batch] = [pool.post("read", READ), pool.post("batch", READ)];
    const change = assert.rejects(pool.post("change", CHANGE), failed("sent", "abandoned"));
    await eventually("all were sent", () => open.length === 3);
    await stopAnswering(scene);
    await change;
    assert.deepEqual([(await read).body, (await batch).body], ["read", "batch"]);
    const moved = asked.filter((text) => text.startsWith("second"));
    assert.deepEqual(moved.sort(), ["second batch", "second read"]);
  }));

Deno.test("ReadPool: when a node stops answering probes, its read is sent only to the other node", () =>
  playFailover(async (scene) => {
    const { pool, asked, open } = scene;
    const used = pool.post("0", READ);
    await eventually("it was sent", () => open.length === 1);
    open[0]?.response.end("0");
    await used;
    const read = pool.post("1", READ);
    await eventually("it was sent", () => open.length === 2);
    await stopAnswering(scene);
    assert.equal((await read).body, "1");
    assert.deepEqual(asked.filter((text) => /\d$/.test(text)), ["first 0", "first 1", "second 1"]);
  }));

Deno.test("ReadPool: each node's duration is its own; a moved read on a stale connection is sent again", () =>
  playFailover(async ({ clock, pool, second, asked, open, ends }) => {
    const ask = async () => {
      const count = open.length;
      const read = pool.post("read", READ);
      await eventually("it was sent", () => open.length > count);
      clock.advance(100);
      open.at(-1)?.response.socket?.destroy();
      assert.equal((await read).body, "read");
    };
    await ask();
    assert.deepEqual(ends.splice(0), [[0, 100], [1, 0]]);
    const { answer } = second;
    // It closes the connection that was kept to it, without an answer.
    second.answer = ({ response, text }) => {
      asked.push(`second closes ${text}`);
      response.socket?.destroy();
      second.answer = answer;
    };
    await ask();
    assert.deepEqual(ends, [[0, 100], [1, 0]]);
    assert.deepEqual(asked, [
      ...["first read", "second read"],
      ...["first read", "second closes read", "second read"],
    ]);
  }));
