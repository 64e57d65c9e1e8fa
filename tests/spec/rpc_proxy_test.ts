/**
 * Part A of the proxy and bridge document: endpoints, metrics and events of the RPC proxy against a
 * whole stack. Routing, hub, states and limits: tests/proxy, and tests/simulation/hub_test.ts.
 */
import assert from "node:assert/strict";
import { z } from "zod";
import { post as postEnvelope, readSeries } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { post } from "../proxy/support.ts";
import { newWallet, rpc, signedDeposit, stack, untilPriced } from "./support.ts";

Deno.test("RPC proxy, POST /: a request gets the same answer as from the node", async () => {
  const { urls } = stack;
  const wallet = newWallet();
  await postEnvelope(`${urls.bridge}/deposit`, await signedDeposit(wallet));
  for (const [method, params] of [["core_getAccount", [wallet.address]], ["eth_chainId", []]]) {
    const message = JSON.stringify({ jsonrpc: "2.0", id: "x", method, params });
    const [direct, proxied] = await Promise.all(
      [urls.nodeRead, urls.proxy].map(async (url) => await (await post(url, message)).text()),
    );
    assert.equal(proxied, direct);
  }
});

Deno.test("RPC proxy, GET /health: plain text OK", async () => {
  const response = await fetch(`${stack.urls.proxy}/health`);
  assert.deepEqual([response.status, await response.text()], [200, "OK"]);
  assert.match(response.headers.get("content-type") ?? "", /^text\/plain\b/);
});

Deno.test("RPC proxy, GET /metrics: every line is of the scrape format", async () => {
  const response = await fetch(`${stack.urls.proxy}/metrics`);
  assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  const sample = /^[a-z_]+(\{([a-z_]+="[^"]*",?)+\})? -?[\d.]+(e[+-]?\d+)?$/;
  for (const line of (await response.text()).split("\n")) {
    assert.ok(line === "" || /^# (HELP|TYPE) \w+ ./.test(line) || sample.test(line), line);
  }
});

const headSchema = z.looseObject({ number: z.string().regex(/^0x/), hash: z.string() });

Deno.test("RPC proxy, GET /ws and Events: a notification of the node is forwarded unchanged", async () => {
  const { urls } = stack;
  const clients = await Promise.all(
    [urls.proxyWs, urls.nodeRead.replace("http", "ws")].map((url) => RpcSocket.open(url)),
  );
  const heads = await Promise.all(clients.map(async (client) => {
    const id = (await client.call("eth_subscribe", ["newHeads"])).result;
    return () => client.notifications(id).map((head) => headSchema.parse(head));
  }));
  const pair = await eventually("a head that both received", () => {
    const [proxied = [], direct = []] = heads.map((received) => received());
    const both = proxied.map((head) => [head, direct.find(({ hash }) => hash === head.hash)]);
    return both.find(([, other]) => other !== undefined);
  });
  assert.deepEqual(pair[0], pair[1]);
  await Promise.all(clients.map((client) => client.close()));
});

/** Every metric of the document: its type, and a sample that it has after the traffic below. */
const METRICS: [name: string, type: string, sample: RegExp][] = [
  ["proxy_http_requests_total", "counter", /\{method="POST",target="read",status="200"\} [1-9]/],
  ["proxy_http_request_duration_seconds", "histogram", /_count\{target="write"\} [1-9]/],
  ["proxy_rpc_methods_total", "counter", /\{method="core_sendTransaction"\} [1-9]/],
  ["proxy_upstream_latency_seconds", "histogram", /_count\{target="read"\} [1-9]/],
  ["proxy_upstream_latency_seconds", "histogram", /_count\{target="write"\} [1-9]/],
  ["proxy_upstream_errors_total", "counter", /\{target="read"\} 0/],
  ["proxy_ws_messages_total", "counter", /\{direction="upstream"\} [1-9]/],
  ["proxy_ws_messages_total", "counter", /\{direction="downstream"\} [1-9]/],
  ["proxy_ws_messages_total", "counter", /\{direction="lagged"\} 0/],
  ["proxy_ws_connections_active", "gauge", / [1-9]/],
  ["proxy_broadcast_active_subscriptions", "gauge", / [1-9]/],
  ["proxy_broadcast_upstream_connected", "gauge", / 1$/],
  ["proxy_broadcast_messages_received", "counter", / [1-9]/],
  ["proxy_broadcast_messages_sent", "counter", / [1-9]/],
  ["proxy_broadcast_reconnect_attempts", "counter", / 0$/],
];
// Counters of failures, missed notifications and attempts stay at 0 while nothing fails:
// tests/proxy tests them with failing nodes.
Deno.test("RPC proxy, Proxy metrics: each has its type, and changes after a read, a write and a notification", async () => {
  const { urls } = stack;
  await rpc(urls.proxy, "core_getAccount", [newWallet().address]);
  await rpc(urls.proxy, "core_sendTransaction", [{}]);
  await using client = await RpcSocket.open(urls.proxyWs);
  await client.call("eth_subscribe", ["newHeads"]);
  await client.waitFor((frame) => frame.method === "eth_subscription");
  for (const [name, type, sample] of METRICS) {
    await eventually(`${name} ${sample}`, async () => {
      const lines = (await (await fetch(`${urls.proxy}/metrics`)).text()).split("\n");
      assert.ok(lines.includes(`# TYPE ${name} ${type}`), `${name} is no ${type}`);
      return lines.find((line) => line.startsWith(name) && sample.test(line.slice(name.length)));
    });
  }
});

const GAUGES = ["proxy_ws_connections_active", "proxy_broadcast_active_subscriptions"];

Deno.test("RPC proxy, Proxy metrics: connections and subscriptions are gauges that follow those of a client", async () => {
  const { urls } = stack;
  const values = async () =>
    (await Promise.all(GAUGES.map((name) => readSeries(urls.proxy, name)))).join();
  // The solver of the stack is a client, too, and the client of the last test may be leaving.
  let last = "";
  const before = await eventually("steady gauges", async () => {
    const earlier = last;
    last = await values();
    return last === earlier ? last : undefined;
  });
  const client = await RpcSocket.open(urls.proxyWs);
  await client.call("eth_subscribe", ["newHeads"]);
  assert.equal(await values(), before.split(",").map((value) => Number(value) + 1).join());
  await client.close();
  await eventually("the client is gone", async () => await values() === before);
});

Deno.test(
  "RPC proxy, What the service does: the node's price oracle works through the proxy",
  () => untilPriced(stack.urls.proxy),
);
