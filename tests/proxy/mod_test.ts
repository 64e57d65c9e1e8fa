import assert from "node:assert/strict";
import { ListenError } from "../../lib/http/listener.ts";
import { UsageError, withDefaults } from "../../lib/cli/options.ts";
import { options, startProxy } from "../../services/proxy/mod.ts";
import type { EchoNode } from "./echo_node.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { call, post, withProxy } from "./support.ts";

Deno.test("Proxy: reads go to the read node and writes to the write node (spec, Routing)", () =>
  withProxy(async ({ url, read, write }) => {
    for (const method of ["core_getAccount", "core_simulateTransaction", "eth_chainId"]) {
      const answer = await (await post(url, call(1, method, ["a"]))).json();
      assert.deepEqual(answer, { jsonrpc: "2.0", id: 1, result: { method, params: ["a"] } });
    }
    for (const method of ["core_sendTransaction", "eth_sendRawTransaction"]) {
      await (await post(url, call(1, method))).body?.cancel();
    }
    const methods = (node: EchoNode) => node.requests.map(({ text }) => JSON.parse(text).method);
    assert.deepEqual(methods(read), ["core_getAccount", "core_simulateTransaction", "eth_chainId"]);
    assert.deepEqual(methods(write), ["core_sendTransaction", "eth_sendRawTransaction"]);
  }));

Deno.test("Proxy: health is OK, metrics carry the specification's names", () =>
  withProxy(async ({ url, wsUrl }) => {
    const client = await RpcSocket.open(wsUrl.replace("/ws", "/"));
    await client.call("eth_subscribe", ["newHeads"]);
    await (await post(url, call(1, "core_getAccount"))).body?.cancel();
    const health = await fetch(`${url}/health`);
    assert.equal(await health.text(), "OK");
    assert.match(health.headers.get("content-type") ?? "", /^text\/plain/);
    const text = await (await fetch(`${url}/metrics`)).text();
    for (
      const line of [
        'proxy_http_requests_total{method="GET",target="proxy",status="101"} 1',
        'proxy_http_requests_total{method="POST",target="read",status="200"} 1',
        'proxy_http_request_duration_seconds_count{target="read"} 1',
        'proxy_rpc_methods_total{method="core_getAccount"} 1',
        'proxy_upstream_latency_seconds_count{target="read"} 1',
        'proxy_upstream_errors_total{target="read"} 0',
        "proxy_ws_connections_active 1",
        'proxy_ws_messages_total{direction="upstream"} 1',
        'proxy_ws_messages_total{direction="downstream"} 1',
        'proxy_ws_messages_total{direction="lagged"} 0',
        "proxy_broadcast_upstream_connected 1",
        "proxy_broadcast_messages_received 1", // the answer to the subscribe
        "proxy_broadcast_messages_sent 0",
        "proxy_broadcast_reconnect_attempts 0",
        "proxy_broadcast_active_subscriptions 1",
      ]
    ) assert(text.split("\n").includes(line), `${line} is missing in\n${text}`);
    await client.close();
  }));

Deno.test("Proxy: --reconnect-initial-ms over --reconnect-max-ms is a usage error, an equal one is not", async () => {
  const given = { port: 0, readNodeUrl: "http://127.0.0.1:1", reconnectMaxMs: 10 };
  const proxyWith = (reconnectInitialMs: number) =>
    startProxy(withDefaults(options, { ...given, reconnectInitialMs }));
  await assert.rejects(proxyWith(11), UsageError);
  await (await proxyWith(10)).stop();
});

Deno.test("Proxy: if the WebSocket port is in use, the start fails and leaves nothing running", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const given = { port: 0, host: "127.0.0.1", readNodeUrl: "http://127.0.0.1:1" };
  await assert.rejects(
    startProxy(withDefaults(options, { ...given, wsPort: taken.addr.port })),
    ListenError,
  );
});

Deno.test("Proxy: with --reuse-port several share their ports, each with metrics of its own", () =>
  withProxy(async ({ read }) => {
    const given = { port: 0, wsPort: 0, metricsPort: 0, reusePort: true, readNodeUrl: read.url };
    const first = await startProxy(withDefaults(options, given));
    const portOf = (url: string | undefined) => Number(new URL(url ?? "").port);
    const ports = { port: portOf(first.url), wsPort: portOf(first.wsPortUrl) };
    const second = await startProxy(withDefaults(options, { ...given, ...ports }));
    assert.equal(second.wsPortUrl, first.wsPortUrl);
    const wsUrls = [first.wsUrl, first.wsPortUrl ?? ""];
    const clients = await Promise.all(
      Array.from({ length: 64 }, (_, n) => RpcSocket.open(wsUrls[n % 2] ?? "")),
    );
    const held = await Promise.all([first, second].map(async ({ metricsUrl }) => {
      assert.equal(await (await fetch(`${metricsUrl}/health`)).text(), "OK");
      const text = await (await fetch(`${metricsUrl}/metrics`)).text();
      return Number(/^proxy_ws_connections_active (\d+)$/m.exec(text)?.[1]);
    }));
    // The kernel spreads them by a hash of both addresses.
    assert(held.every((clients) => clients > 0), `${held}`);
    assert.equal(held[0]! + held[1]!, clients.length);
    await Promise.all(clients.map((client) => client.close()));
    await Promise.all([first.stop(), second.stop()]);
  }));

Deno.test("Proxy: without --reuse-port, or on a port of others, it does not start", async () => {
  const given = { port: 0, metricsPort: 0, readNodeUrl: "http://127.0.0.1:1" };
  const first = await startProxy(withDefaults(options, given));
  const port = Number(new URL(first.url).port);
  for (const taken of [{ port }, { metricsPort: port }, { port, reusePort: true }]) {
    await assert.rejects(startProxy(withDefaults(options, { ...given, ...taken })), ListenError);
  }
  await first.stop();
});

Deno.test("Proxy: a query behind the path of POST / is allowed, another path is not found", () =>
  withProxy(async ({ url }) => {
    for (const [path, status] of [["/?key=1", 200], ["/?", 200], ["/other", 404]] as const) {
      const answer = await post(`${url}${path}`, call(1, "core_getAccount"));
      await answer.text();
      assert.equal(answer.status, status, path);
    }
  }));

Deno.test("Proxy: accepts WebSockets on / and /ws only", () =>
  withProxy(async ({ wsUrl }) => {
    for (const path of ["/", "/ws", "/ws?key=1"]) {
      await (await RpcSocket.open(wsUrl.replace("/ws", path))).close();
    }
    await assert.rejects(RpcSocket.open(wsUrl.replace("/ws", "/other")));
  }));
