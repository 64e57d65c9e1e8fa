/** Callers' answers when a node fails over HTTP. */
import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { ByteBudget, SMALL_BYTES } from "../../../services/proxy/byte_budget.ts";
import { HTTP_CONNECTIONS_MAX, type PostOptions } from "../../../services/proxy/node/http_pool.ts";
import { ProxyMetrics } from "../../../services/proxy/metrics.ts";
import { askOverHttp } from "../../../services/proxy/node/read_pool.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { eventually } from "../../support/eventually.ts";
import { freePort } from "../../support/ports.ts";
import { withCallerId } from "../../../services/proxy/node_answer.ts";
import { type Asked, poolTo, Server } from "./http_pool_scene.ts";
import { seriesIn } from "../../support/metrics.ts";

const TIMEOUT_MS = 1_000;

type Target = "read" | "write";

/** Posts to a node; reports the failure, its counter, and the arguments of `onEnd`. */
async function outcome(target: Target, answer?: (asked: Asked, clock: FakeClock) => void) {
  const registry = new Registry();
  const clock = new FakeClock();
  const server = new Server((asked) => answer?.(asked, clock));
  const port = answer === undefined ? freePort() : await server.listen();
  const ends: [status: number | undefined, failed: boolean][] = [];
  const node = poolTo(`http://127.0.0.1:${port}`, {
    target,
    timeoutMs: TIMEOUT_MS,
    clock,
    budget: new ByteBudget(SMALL_BYTES),
    metrics: new ProxyMetrics(registry),
    onEnd: (status, error) => ends.push([status, error !== undefined]),
  });
  try {
    const reply = await node.post("{}", { forwardedFor: "x" }).catch((
      { status, rpcCode, message },
    ) => ({
      status,
      rpcCode,
      isDoubtful: /may have taken effect/.test(message),
    }));
    const text = await registry.metrics();
    const count = (series: string) => seriesIn(text, series);
    return {
      reply,
      ends,
      errors: count(`proxy_upstream_errors_total{target="${target}"}`),
      refusals: count('proxy_refusals_total{limit="buffered_bytes"}'),
      seconds: count(`proxy_upstream_latency_seconds_sum{target="${target}"}`),
      count: count(`proxy_upstream_latency_seconds_count{target="${target}"}`),
    };
  } finally {
    node.stop();
    if (answer !== undefined) await server.stop();
  }
}

const large = ({ response }: Asked) => response.end("x".repeat(SMALL_BYTES + 1));
const breakOff = ({ response }: Asked) => response.socket?.destroy();
const late = (_asked: Asked, clock: FakeClock) => clock.advance(TIMEOUT_MS);

const failures: [name: string, Target, Parameters<typeof outcome>[1], unknown, refusals: number][] =
  [
    ["cannot be reached", "read", undefined, [502, -32002, false], 0],
    ["cannot be reached", "write", undefined, [502, -32002, false], 0],
    ["breaks off", "read", breakOff, [502, -32002, false], 0],
    ["breaks off", "write", breakOff, [502, -32002, true], 0],
    ["is late", "read", late, [504, -32002, false], 0],
    ["is late", "write", late, [504, -32002, true], 0],
    ["answers too much at once", "read", large, [429, -32005, false], 1],
    ["answers too much at once", "write", large, [502, -32002, true], 1],
  ];
for (const [name, target, answer, wanted, refusals] of failures) {
  Deno.test(`HttpPool: a ${target} node that ${name}`, async () => {
    const { reply, ends, ...counts } = await outcome(target, answer);
    assert("rpcCode" in reply);
    assert.deepEqual([reply.status, reply.rpcCode, reply.isDoubtful], wanted);
    const tookMs = name === "is late" ? TIMEOUT_MS : 0;
    assert.deepEqual(ends, [[undefined, true]]);
    assert.deepEqual(counts, { errors: 1, refusals, seconds: tookMs / 1_000, count: 1 });
  });
}

Deno.test("HttpPool: an answer of any status resolves, redirects are not followed, and the time is observed", async () => {
  for (const status of [503, 307]) {
    let asked = 0;
    const { reply, ends, ...counts } = await outcome("write", ({ response }, clock) => {
      asked += 1;
      clock.jump(500);
      response.writeHead(status, { location: "/again" }).end("busy");
    });
    assert.deepEqual([reply.status, asked], [status, 1]);
    assert.deepEqual(ends, [[status, false]]);
    assert.deepEqual(counts, { errors: 0, refusals: 0, seconds: 0.5, count: 1 });
  }
});

Deno.test("HttpPool: a call is refused while every connection to the node is in use", async () => {
  const open: Asked[] = [];
  const server = new Server((asked) => open.push(asked));
  const node = poolTo(`http://127.0.0.1:${await server.listen()}`, { target: "write" });
  const ask = () => node.post("{}", { forwardedFor: "x" });
  const answers = Array.from({ length: HTTP_CONNECTIONS_MAX }, ask);
  await assert.rejects(ask(), { status: 429, rpcCode: -32005 });
  await eventually("the first request", () => open.length > 0 || undefined);
  open[0]?.response.end("{}");
  await Promise.race(answers);
  const further = ask();
  node.stop();
  const ends = await Promise.allSettled([...answers, further]);
  assert.equal(ends.filter(({ status }) => status === "rejected").length, HTTP_CONNECTIONS_MAX);
  await server.stop();
});

Deno.test("askOverHttp: a read may be repeated and moved, and accepts only its own answer", async () => {
  let body = '{"id":8,"result":7}';
  const posted: [text: string, options: PostOptions][] = [];
  const nodes = {
    post(...given: [text: string, options: PostOptions]) {
      posted.push(given);
      return Promise.resolve({ status: 200, body });
    },
  };
  const read = { method: "eth_call", node: 1, caller: "a", forwardedFor: "x", fitsSocket: true };
  const asked = () => askOverHttp(nodes, { ...read, textAfterId: ',"method":"eth_call"}' }, 8);
  assert.equal(withCallerId(await asked(), "5"), '{"id":5,"result":7}');
  const [[text, { isAnswer, ...options }]] = posted as [typeof posted[number]];
  assert.equal(text, '{"jsonrpc":"2.0","id":8,"method":"eth_call"}');
  assert.deepEqual(options, { forwardedFor: "x", node: 1, isPlain: true });
  const isTaken = [8, 9, null].map((id) => isAnswer?.(JSON.stringify({ id })));
  assert.deepEqual(isTaken, [true, false, true]);
  for (body of ['{"id":9}', "<html>"]) {
    await assert.rejects(asked(), { status: 502, rpcCode: -32002 });
  }
});
