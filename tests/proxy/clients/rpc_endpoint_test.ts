/** `POST /` before a router whose nodes the test plays. */
import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { Cors } from "../../../lib/http/cors.ts";
import {
  AddressCounts,
  ByteBudget,
  CallerBytes,
  LARGE_SHARE,
  SMALL_BYTES,
} from "../../../services/proxy/shared/limits.ts";
import type { NodeReply } from "../../../services/proxy/shared/envelopes.ts";
import { ProxyMetrics } from "../../../services/proxy/shared/metrics.ts";
import { RUNTIME_BYTES_MAX } from "../../../services/proxy/clients/request_bodies.ts";
import {
  RpcEndpoint,
  type RpcEndpointOptions,
} from "../../../services/proxy/clients/rpc_endpoint.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { address } from "../hub/hub_scene.ts";
import { call, routerTo } from "../support.ts";
import { nextTurn } from "../../support/eventually.ts";

const GOOD = "https://good.example";
const READ = call(1, "eth_getLogs");
const WRITE = call(1, "core_sendTransaction");

/** An endpoint whose nodes answer with `result`. */
function scene(
  { budget = new ByteBudget(Infinity), ...overrides }:
    & Partial<RpcEndpointOptions>
    & { budget?: ByteBudget } = {},
  result = "",
) {
  const registry = new Registry();
  const metrics = new ProxyMetrics(registry);
  const openRequests = new AddressCounts(1, 1);
  /** Bytes in use while a node answers, for each request. */
  const held: number[] = [];
  const node = {
    post(text: string): Promise<NodeReply> {
      held.push(budget.used);
      const body = JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(text).id, result });
      return Promise.resolve({ status: 200, body });
    },
  };
  const router = routerTo({ read: node, write: node }, { metrics });
  const endpoint = new RpcEndpoint({
    router,
    cors: new Cors([GOOD]),
    metrics,
    maxBodyBytes: 4 * SMALL_BYTES,
    trustProxy: false,
    openRequests,
    callerBytes: new CallerBytes(budget),
    clock: new FakeClock(),
    ...overrides,
  });
  const served = Promise.withResolvers<void>();
  const post = (body: BodyInit, headers: Record<string, string> = {}) => {
    const length: Record<string, string> = typeof body === "string"
      ? { "content-length": `${body.length}` }
      : {};
    const request = new Request("http://x/", {
      method: "POST",
      body,
      headers: { ...length, ...headers },
    });
    const answer = endpoint.handle(request, "192.0.2.1", { completed: served.promise });
    return answer ?? assert.fail("Not handled");
  };
  const refusals = async () => {
    const text = await registry.getSingleMetricAsString("proxy_refusals_total");
    return [...text.matchAll(/limit="(\w+)"\} ([1-9])/g)].map(([, limit]) => limit);
  };
  return { endpoint, openRequests, budget, held, post, served, refusals, registry };
}

async function errorId(response: Response): Promise<unknown> {
  const { id, error } = await response.json();
  assert.equal(typeof error?.code, "number");
  return id;
}

async function outcome(response: Response): Promise<[status: number, code: number | undefined]> {
  const text = await response.text();
  return [response.status, text === "" ? undefined : JSON.parse(text).error?.code];
}

function messageOf(bytes: number, message: { params: unknown[] } = READ): string {
  const { length } = JSON.stringify({ ...message, params: [""] });
  return JSON.stringify({ ...message, params: ["x".repeat(bytes - length)] });
}

Deno.test("RpcEndpoint: only POST / is handled", () => {
  const { endpoint } = scene();
  const served = { completed: Promise.resolve() };
  for (const [method, path] of [["GET", "/"], ["OPTIONS", "/"], ["POST", "/health"]] as const) {
    assert.equal(
      endpoint.handle(new Request(`http://x${path}`, { method }), "x", served),
      undefined,
    );
  }
  assert(endpoint.handle(new Request("http://x/?key=1", { method: "POST" }), "x", served));
});

Deno.test("RpcEndpoint: answers are JSON with the headers of CORS, and are counted", async () => {
  const { post, registry, held } = scene({ cors: new Cors([GOOD]) });
  const text = JSON.stringify(READ);
  const good = await post(text, { origin: GOOD });
  assert.deepEqual(Object.fromEntries(good.headers), {
    "access-control-allow-origin": GOOD,
    "content-type": "application/json",
    vary: "origin",
  });
  assert.equal((await good.json()).result, "");
  const silent = await post(JSON.stringify({ ...READ, id: undefined }), { origin: GOOD });
  assert.deepEqual(await outcome(silent), [204, undefined]);
  assert.equal(silent.headers.get("access-control-allow-origin"), GOOD);
  assert.deepEqual(await outcome(await post(text, { origin: "https://bad.example" })), [
    403,
    -32600,
  ]);
  assert.equal(held.length, 2, "no node is asked for a page that may not call");
  const anyone = scene({ cors: new Cors(["*"]) });
  const plain = await anyone.post(text);
  assert.deepEqual([...plain.headers], [["content-type", "application/json"]]);
  const counted = await registry.getSingleMetricAsString("proxy_http_requests_total");
  const labelSets = [
    'method="POST",target="read",status="200"',
    'method="POST",target="read",status="204"',
    'method="POST",target="proxy",status="403"',
  ];
  for (const labels of labelSets) {
    assert(counted.includes(`{${labels}} 1\n`) || counted.endsWith(`{${labels}} 1`), counted);
  }
});

Deno.test("RpcEndpoint: a refusal for the rate has Retry-After, one for open requests does not", async () => {
  let waitS: number | undefined = 7;
  const { post, refusals, openRequests, held } = scene({
    limiter: { count: () => Promise.resolve(waitS) },
  });
  const text = JSON.stringify(READ);
  const refused = await post(text);
  assert.equal(refused.headers.get("retry-after"), "7");
  assert.deepEqual(await outcome(refused), [429, -32005]);
  assert.deepEqual(await refusals(), ["request_rate"]);
  const foreign = await post(text, { origin: "https://elsewhere.example" });
  assert.deepEqual([foreign.status, foreign.headers.get("retry-after")], [403, null]);
  waitS = undefined;
  const answered = await post(text);
  assert.deepEqual([answered.status, answered.headers.get("retry-after")], [200, null]);
  const caller = address("192.0.2.1");
  assert(openRequests.tryAdd(caller), "answered requests are not open");
  const busy = await post(text);
  assert.equal(busy.headers.get("retry-after"), null);
  assert.match(await busy.clone().text(), /or behind its load balancer/);
  assert.deepEqual(await outcome(busy), [429, -32005]);
  assert.deepEqual(await refusals(), ["requests_per_address", "request_rate"]);
  assert(!openRequests.canAdd(caller), "the refused one was not counted");
  assert.equal(held.length, 1);
});

Deno.test("RpcEndpoint: a refusal has the call's id if its body was read, null for a batch or an unread body", async () => {
  const [read, batch] = [READ, [READ]].map((message) => JSON.stringify(message));
  assert(read && batch);
  const limited = scene({ limiter: { count: () => Promise.resolve(1) } });
  assert.equal(await errorId(await limited.post(read)), null);
  const busy = scene();
  busy.openRequests.add(address("192.0.2.1"));
  assert.equal(await errorId(await busy.post(read)), READ.id);
  assert.equal(await errorId(await busy.post(batch)), null);
  const full = scene({ budget: new ByteBudget(SMALL_BYTES) }, "x".repeat(SMALL_BYTES));
  assert.equal(await errorId(await full.post(read)), READ.id);
  const node = { post: () => Promise.reject(new TypeError("a defect")) };
  const broken = scene({ router: routerTo({ read: node, write: node }) });
  await withLogs("info", async () => {
    assert.equal(await errorId(await broken.post(read)), READ.id);
  });
});

Deno.test("RpcEndpoint: bodies over 8 KiB or of unknown length use the memory budget until answered", async () => {
  const { post, held, budget } = scene();
  await post(messageOf(RUNTIME_BYTES_MAX));
  await post(messageOf(SMALL_BYTES + 1));
  await post(new Blob([messageOf(1_000)]).stream()); // of undeclared length
  assert.deepEqual(held, [0, SMALL_BYTES + 1, 1_000]);
  assert.equal(budget.used, 0);
  const full = scene({ budget: new ByteBudget(SMALL_BYTES / LARGE_SHARE) });
  assert.deepEqual(await outcome(await full.post(messageOf(SMALL_BYTES + 1))), [429, -32005]);
  assert.deepEqual([full.held.length, full.budget.used], [0, 0]);
});

Deno.test("RpcEndpoint: a request is open only after its body is complete", async () => {
  const { post, openRequests, held, endpoint } = scene();
  const body = new TransformStream();
  const slow = post(body.readable);
  const caller = address("192.0.2.1");
  await nextTurn();
  assert(openRequests.canAdd(caller), "its body has not arrived");
  assert.equal((await post(JSON.stringify(READ))).status, 200);
  const writer = body.writable.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(READ)));
  await writer.close();
  assert.deepEqual([(await slow).status, held.length], [200, 2]);
  endpoint.stop();
});

Deno.test("RpcEndpoint: a large answer uses the memory budget until sent; without room only reads are refused", async () => {
  const frame = JSON.stringify({ jsonrpc: "2.0", id: 1, result: "" }).length;
  const small = scene({}, "x".repeat(SMALL_BYTES - frame));
  await small.post(JSON.stringify(READ));
  assert.equal(small.budget.used, 0);
  for (const settle of ["resolve", "reject"] as const) {
    const { post, budget, served } = scene({}, "x".repeat(SMALL_BYTES - frame + 1));
    await post(JSON.stringify(READ));
    assert.equal(budget.used, SMALL_BYTES + 1);
    served[settle]();
    await Promise.allSettled([served.promise]);
    assert.equal(budget.used, 0);
  }
  const full = scene({ budget: new ByteBudget(SMALL_BYTES + frame) }, "x".repeat(SMALL_BYTES));
  assert.deepEqual(await outcome(await full.post(JSON.stringify(READ))), [429, -32005]);
  assert.deepEqual([await full.refusals(), full.budget.used], [["buffered_bytes"], 0]);
  assert.equal((await full.post(JSON.stringify(WRITE))).status, 200);
  assert.equal(full.budget.used, SMALL_BYTES + frame);
});

Deno.test("RpcEndpoint: an incomplete body is a parse error, is not logged, and reaches no node", async () => {
  for (const headers of [{}, { "content-length": "100" }] as Record<string, string>[]) {
    const { post, held, openRequests } = scene();
    const broken = new ReadableStream({ pull: (it) => it.error(new Error("gone")) });
    await withLogs("info", async (records) => {
      assert.deepEqual(await outcome(await post(broken, headers)), [400, -32700]);
      assert.deepEqual(records, []);
    });
    assert.equal(held.length, 0);
    assert(openRequests.canAdd(address("192.0.2.1")));
  }
});

Deno.test("RpcEndpoint: an unexpected error is answered with 500 and logged", async () => {
  const defect = new TypeError("a defect");
  const node = { post: () => Promise.reject(defect) };
  const { post, openRequests } = scene({ router: routerTo({ read: node, write: node }) });
  await withLogs("info", async (records) => {
    assert.deepEqual(await outcome(await post(JSON.stringify(READ))), [500, -32603]);
    assert.deepEqual(records.map(({ level, properties }) => [level, properties.error]), [
      ["error", defect],
    ]);
  });
  assert(openRequests.canAdd(address("192.0.2.1")));
});
