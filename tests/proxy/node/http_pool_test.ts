import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Registry } from "prom-client";
import type { FailureStage } from "../../../services/proxy/node/http_connection.ts";
import { ByteBudget, SMALL_BYTES } from "../../../services/proxy/shared/limits.ts";
import { HTTP_CONNECTIONS_MAX, type PostOptions } from "../../../services/proxy/node/http_pool.ts";
import { ProxyMetrics } from "../../../services/proxy/shared/metrics.ts";
import { askOverHttp } from "../../../services/proxy/node/read_pool.ts";
import { withCallerId } from "../../../services/proxy/shared/envelopes.ts";
import { eventually } from "../../support/eventually.ts";
import {
  type Asked,
  CHANGE,
  echo,
  failed,
  play,
  poolTo,
  RawNode,
  READ,
  Server,
  TIMEOUT_MS,
} from "./http_pool_scene.ts";
import { address } from "../hub/hub_scene.ts";
import { readNodesOf } from "../support.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { freePort } from "../../support/ports.ts";
import { seriesIn } from "../../support/http_answers.ts";

Deno.test("HttpPool: sends a valid request and returns the answer", () => {
  let seen: IncomingMessage | undefined;
  const answer = ({ request, response, text }: Asked) => {
    seen = request;
    response.writeHead(429, { "content-type": "x/y" }).end(`got ${text}`);
  };
  return play(answer, async ({ node }) => {
    const reply = await node.post('{"a":"€"}', { forwardedFor: "10.0.0.1, 127.0.0.1" });
    assert.deepEqual([reply.status, reply.body], [429, 'got {"a":"€"}']);
    assert.deepEqual([seen?.method, seen?.url], ["POST", "/rpc/v1?key=1"]);
    assert.equal(seen?.headers["content-type"], "application/json");
    assert.equal(seen?.headers["x-forwarded-for"], "10.0.0.1, 127.0.0.1");
    assert.match(seen?.headers.host ?? "", /^127\.0\.0\.1:\d+$/);
  }, { path: "/rpc/v1?key=1" });
});

Deno.test("HttpPool: user and password of the URL are sent as fetch sends them", async () => {
  const seen: (string | undefined)[] = [];
  const server = new Server(({ request, response }) => {
    seen.push(request.headers.authorization);
    response.end();
  });
  const host = `127.0.0.1:${await server.listen()}`;
  for (
    const [user, pair] of [["us%20er:p%40ss:word", "us er:p@ss:word"], ["us%er", "us%er:"], [
      ":p",
      ":p",
    ]]
  ) {
    const url = new URL(`http://${user}@${host}`);
    const node = poolTo(url);
    await node.post("a", READ);
    await (await fetch(url, { method: "POST", body: "a" })).body?.cancel();
    node.stop();
    assert.equal(seen[0], `Basic ${btoa(pair ?? "")}`);
    assert.equal(seen[1], seen[0]);
    seen.length = 0;
  }
  await server.stop();
});

Deno.test("HttpPool: consecutive reads share a connection, concurrent reads do not", () =>
  play(echo, async ({ node, server }) => {
    for (let n = 0; n < 5; n += 1) {
      assert.equal((await node.post(`${n}`, READ)).body, `${n}`);
    }
    assert.equal(server.opened, 1);
    const texts = Array.from({ length: 8 }, (_, n) => `side by side ${n}`);
    const replies = await Promise.all(texts.map((text) => node.post(text, READ)));
    assert.deepEqual(replies.map(({ body }) => body), texts);
    assert.equal(server.opened, 8);
    await Promise.all(texts.map((text) => node.post(text, READ)));
    assert.equal(server.opened, 8);
  }));

Deno.test("HttpPool: keeps the byte order mark of an answer", () =>
  play(({ response, text }) => response.end(Uint8Array.fromHex(text)), async ({ node }) => {
    for (const hex of ["efbbbf7b7d", "c3a9"]) {
      const { body } = await node.post(hex, READ);
      assert.equal(new Uint8Array(await new Response(body).arrayBuffer()).toHex(), hex);
    }
  }));

Deno.test("HttpPool: a broken connection does not close idle ones", () =>
  play(({ response, text }) => {
    if (text === "break off") response.socket?.destroy();
    else response.end(text);
  }, async ({ node, server }) => {
    await Promise.all([node.post("a", READ), node.post("b", READ), node.post("c", READ)]);
    await assert.rejects(node.post("break off", CHANGE));
    await eventually("its end", () => server.sockets.size === 3);
    await Promise.all([node.post("d", READ), node.post("e", READ)]);
    assert.equal(server.opened, 4);
  }));

Deno.test("HttpPool: a late answer fails, closes its connection, and is not requested again", async () => {
  const asked: Asked[] = [];
  const answer = (question: Asked) => {
    if (asked.push(question) === 1) question.response.write("a part of it");
    else if (asked.length === 2) question.response.end();
  };
  await play(answer, async ({ node, server, clock }) => {
    const endsLate = async (stage: FailureStage, count: number) => {
      const late = assert.rejects(node.post("a", READ), failed(stage, "timeout"));
      await eventually("it is asked", () => asked.length === count);
      clock.advance(TIMEOUT_MS);
      await late;
      await eventually("its end", () => server.sockets.size === 0);
    };
    await endsLate("sent", 1);
    await node.post("b", READ);
    clock.advance(TIMEOUT_MS); // once answered, a request has no limit
    await endsLate("reused", 3);
    assert.deepEqual([asked.length, server.opened], [3, 2]);
  });
});

Deno.test("HttpPool: a plain read is sent again once if its kept connection ends without an answer", () => {
  let asked = 0;
  return play(({ response, text }) => {
    asked += 1;
    if (asked === 2 || text === "c") response.socket?.destroy();
    else response.end(text);
  }, async ({ node, server }) => {
    await node.post("a", READ);
    assert.equal((await node.post("b", READ)).body, "b");
    assert.deepEqual([asked, server.opened], [3, 2]);
    await assert.rejects(node.post("c", READ), failed("sent", /./));
    assert.deepEqual([asked, server.opened], [5, 3]);
  });
});

Deno.test("HttpPool: a connection that answered before it read the whole request is not reused", async () => {
  const large = "a".repeat(64 * 1024 * 1024); // more than the buffers of both sockets
  const server = new RawNode(() => {
    for (const socket of server.sockets) socket.pause(); // and no more of it is read, ever
    return { pieces: ["HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno"] };
  });
  const node = poolTo(`http://127.0.0.1:${await server.listen()}`);
  for (let n = 1; n <= 2; n += 1) {
    assert.equal((await node.post(large, READ)).status, 413);
    assert.equal(server.opened, n);
  }
  node.stop();
  await server.stop();
});

Deno.test("HttpPool: after stop, nothing is sent", () =>
  play(echo, async ({ node, server }) => {
    await node.post("a", READ);
    node.stop();
    await assert.rejects(node.post("b", READ), failed("connecting", /is stopping/));
    assert.equal(server.opened, 1);
  }));

Deno.test("HttpPool: host names and IPv6 addresses are resolved", async () => {
  for (const [listen, host] of [["127.0.0.1", "localhost"], ["::1", "[::1]"]] as const) {
    const server = new Server(echo);
    const node = poolTo(`http://${host}:${await server.listen(listen)}`);
    assert.equal((await node.post("a", READ)).body, "a", host);
    node.stop();
    await server.stop();
  }
});

Deno.test("HttpPool: a failed connection attempt is not repeated", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let accepted = 0;
  const serving = (async () => {
    for await (const connection of listener) {
      accepted += 1;
      await connection.read(new Uint8Array(1)); // it began to agree on keys
      connection.close();
    }
  })();
  const node = poolTo(`https://127.0.0.1:${listener.addr.port}`);
  await assert.rejects(node.post("a", READ), failed("connecting", /./));
  assert.equal(accepted, 1);
  node.stop();
  listener.close();
  await serving;
});

// Callers' answers when a node fails over HTTP.

const SHORT_TIMEOUT_MS = 1_000;

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
    timeoutMs: SHORT_TIMEOUT_MS,
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
const late = (_asked: Asked, clock: FakeClock) => clock.advance(SHORT_TIMEOUT_MS);

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
    const tookMs = name === "is late" ? SHORT_TIMEOUT_MS : 0;
    assert.deepEqual(ends, [[undefined, true]]);
    assert.deepEqual(counts, { errors: 1, refusals, seconds: tookMs / 1_000, count: 1 });
  });
}

Deno.test("HttpPool: a write that is late before it was sent has not taken effect", async () => {
  const clock = new FakeClock();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const pool = poolTo(`https://127.0.0.1:${listener.addr.port}`, {
    target: "write",
    timeoutMs: SHORT_TIMEOUT_MS,
    clock,
  });
  const failed = assert.rejects(pool.post("{}", { forwardedFor: "x" }), {
    status: 504,
    message: /accepted no connection within 1000 ms; try again$/,
  });
  using _connection = await listener.accept(); // which does not answer the handshake of TLS
  clock.advance(SHORT_TIMEOUT_MS);
  await failed;
  pool.stop();
  listener.close();
});

Deno.test("HttpPool: an answer of any status resolves, redirects are not followed, and the time is observed", async () => {
  for (const status of [503, 500, 307]) {
    let asked = 0;
    const { reply, ends, ...counts } = await outcome("write", ({ response }, clock) => {
      asked += 1;
      clock.jump(500);
      response.writeHead(status, { location: "/again" }).end("busy");
    });
    assert.deepEqual([reply.status, asked], [status, 1]);
    assert.deepEqual(ends, [[status, false]]);
    const errors = status === 503 ? 1 : 0;
    assert.deepEqual(counts, { errors, refusals: 0, seconds: 0.5, count: 1 });
  }
});

Deno.test("HttpPool: a call is refused while every connection to the node is in use", async () => {
  const open: Asked[] = [];
  const server = new Server((asked) => open.push(asked));
  const node = poolTo(`http://127.0.0.1:${await server.listen()}`, { target: "write" });
  const ask = () => node.post("{}", { forwardedFor: "x" });
  const answers = Array.from({ length: HTTP_CONNECTIONS_MAX }, ask);
  await assert.rejects(ask(), { status: 429, rpcCode: -32005 });
  await eventually("the first request", () => open.length > 0);
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
    post(...message: [text: string, options: PostOptions]) {
      posted.push(message);
      return Promise.resolve({ status: 200, body });
    },
  };
  const { leader: node } = readNodesOf("node");
  const read = { node, blocks: [5], caller: address("x"), hasLargeAnswer: false };
  const asked = () => askOverHttp(nodes, { ...read, textAfterId: ',"method":"eth_call"}' }, 8);
  assert.equal(withCallerId(await asked(), "5"), '{"id":5,"result":7}');
  const [[text, { isAnswer, ...options }]] = posted as [typeof posted[number]];
  assert.equal(text, '{"jsonrpc":"2.0","id":8,"method":"eth_call"}');
  assert.deepEqual(options, { forwardedFor: "x", node, blocks: [5], isPlain: true });
  const isTaken = [8, 9, null].map((id) => isAnswer?.(JSON.stringify({ id })));
  assert.deepEqual(isTaken, [true, false, true]);
  for (body of ['{"id":9}', "<html>"]) {
    await assert.rejects(asked(), { status: 502, rpcCode: -32002 });
  }
});
