/** Reads that move to another node. */
import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { ProxyMetrics } from "../../../services/proxy/metrics.ts";
import { ByteBudget } from "../../../services/proxy/byte_budget.ts";
import type { ReadNodes } from "../../../services/proxy/node/read_nodes.ts";
import { PROBE_TIMEOUT_MS, ReadPool } from "../../../services/proxy/node/read_pool.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { readNodesOf } from "../support.ts";
import { type Asked, CHANGE, echo, failed, READ, Server, TIMEOUT_MS } from "./http_pool_scene.ts";

interface Scene {
  clock: FakeClock;
  nodes: ReadNodes;
  pool: ReadPool;
  asked: string[];
  /** Requests that the first node got and has not answered. */
  open: Asked[];
  /** How long each node took for each request. */
  ends: [node: number, tookMs: number][];
  /** The node that echoes. */
  second: Server;
}

/** Plays with a leader that answers nothing by itself, and another node that echoes. */
async function play(scene: (scene: Scene) => Promise<void>): Promise<void> {
  const [asked, open]: [string[], Asked[]] = [[], []];
  const ends: Scene["ends"] = [];
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
    upstreamLatency() {
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
async function stopAnswering({ clock, nodes, pool, open }: Scene): Promise<void> {
  while (!nodes.isDead(0)) {
    const count = open.length;
    const probe = pool.probe(0);
    await eventually("it was sent", () => open.length > count || undefined);
    clock.advance(PROBE_TIMEOUT_MS);
    await probe;
  }
}

Deno.test("ReadPool: when a node stops answering probes, its open reads move and other requests fail", () =>
  play(async (scene) => {
    const { pool, asked, open } = scene;
    const [read, batch] = [pool.post("read", READ), pool.post("batch", READ)];
    const change = assert.rejects(pool.post("change", CHANGE), failed("sent", "abandoned"));
    await eventually("all were sent", () => open.length === 3 || undefined);
    await stopAnswering(scene);
    await change;
    assert.deepEqual([(await read).body, (await batch).body], ["read", "batch"]);
    const moved = asked.filter((text) => text.startsWith("second"));
    assert.deepEqual(moved.sort(), ["second batch", "second read"]);
  }));

Deno.test("ReadPool: when a node stops answering probes, its read is sent only to the other node", () =>
  play(async (scene) => {
    const { pool, asked, open } = scene;
    const used = pool.post("0", READ);
    await eventually("it was sent", () => open.length === 1 || undefined);
    open[0]?.response.end("0");
    await used;
    const read = pool.post("1", READ);
    await eventually("it was sent", () => open.length === 2 || undefined);
    await stopAnswering(scene);
    assert.equal((await read).body, "1");
    assert.deepEqual(asked.filter((text) => /\d$/.test(text)), ["first 0", "first 1", "second 1"]);
  }));

Deno.test("ReadPool: each node's duration is its own; a moved read on a stale connection is sent again", () =>
  play(async ({ clock, pool, second, asked, open, ends }) => {
    const ask = async () => {
      const count = open.length;
      const read = pool.post("read", READ);
      await eventually("it was sent", () => open.length > count || undefined);
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
