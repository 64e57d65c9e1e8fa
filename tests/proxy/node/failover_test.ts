/** Reads that move to another node. */
import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { ProxyMetrics } from "../../../services/proxy/metrics.ts";
import type { HttpPool } from "../../../services/proxy/node/http_pool.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { type Asked, CHANGE, echo, failed, poolTo, READ, Server } from "./http_pool_scene.ts";

interface Scene {
  clock: FakeClock;
  first: HttpPool;
  asked: string[];
  /** Requests that the first node got and has not answered. */
  open: Asked[];
  /** How long each node took for each request. */
  ends: [node: number, tookMs: number][];
  /** The node that echoes. */
  second: Server;
}

/** Plays with a node that answers nothing by itself, and another one that echoes. */
async function play(scene: (scene: Scene) => Promise<void>): Promise<void> {
  const [asked, open]: [string[], Asked[]] = [[], []];
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
  const ends: Scene["ends"] = [];
  const pools: HttpPool[] = [];
  for (const [index, server] of servers.entries()) {
    const failover = () => pools[1 - index];
    const metrics = Object.assign(new ProxyMetrics(new Registry()), {
      upstreamLatency: () => (seconds: number) => void ends.push([index, seconds * 1_000]),
    });
    const url = `http://127.0.0.1:${await server.listen()}`;
    pools.push(poolTo(url, { clock, failover, metrics }));
  }
  try {
    await scene({ clock, first: pools[0] ?? assert.fail(), second, asked, open, ends });
  } finally {
    for (const pool of pools) pool.stop();
    for (const server of servers) await server.stop();
    assert.equal(clock.pending, 0, "A timer was left behind");
  }
}

Deno.test("HttpPool: when a node is abandoned its open reads move, and other requests fail", () =>
  play(async ({ first, asked, open }) => {
    const read = first.post("read", READ);
    const batch = first.post("batch", READ);
    const change = first.post("change", CHANGE);
    await eventually("all were sent", () => open.length === 3 || undefined);
    first.abandon("it hangs");
    await assert.rejects(change, failed("sent", "abandoned"));
    assert.equal((await read).body, "read");
    assert.equal((await batch).body, "batch");
    assert.deepEqual(asked.slice(3).sort(), ["second batch", "second read"]);
    assert.equal(first.open, 0);
  }));

Deno.test("HttpPool: a read on a reused connection that was closed is sent again; if the node is abandoned, only failover", () =>
  play(async ({ first, asked, open }) => {
    const used = first.post("0", READ);
    await eventually("it was sent", () => open.length === 1 || undefined);
    open[0]?.response.end("0");
    await used;
    const read = first.post("1", READ);
    await eventually("it was sent", () => open.length === 2 || undefined);
    first.abandon("it hangs");
    assert.equal((await read).body, "1");
    assert.deepEqual(asked, ["first 0", "first 1", "second 1"]);
  }));

Deno.test("HttpPool: each node is told how long it took itself, and a moved read is sent again to a closed connection", () =>
  play(async ({ clock, first, second, asked, open, ends }) => {
    const ask = async () => {
      const count = open.length;
      const read = first.post("read", READ);
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
