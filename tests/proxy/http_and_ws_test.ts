import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { readSeries } from "../support/http_answers.ts";
import { resetHandshake, RpcSocket } from "../support/rpc_socket.ts";
import { BOTH_PORTS, call, connectReads, post, withProxy } from "./support.ts";

Deno.test("Proxy, HTTP: a read over the WebSocket and a write without a timely answer are 504, and counted", () => {
  // It answers the proxy's own checks.
  const slow = new Set(["eth_blockNumber", "core_sendTransaction"]);
  const { promise: never, resolve: release } = Promise.withResolvers<void>();
  const answer = async (text: string) => {
    const { id, method } = JSON.parse(text);
    if (slow.has(method)) await never;
    return Response.json({ jsonrpc: "2.0", id, result: 1 });
  };
  return withProxy(async ({ url, read }) => {
    try {
      await connectReads({ url, read });
      for (const method of slow) {
        const response = await post(url, call(1, method));
        const { id, error } = await response.json();
        assert.deepEqual([response.status, id, error.code], [504, 1, -32002], error.message);
      }
      for (const target of ["read", "write"]) {
        assert.equal(await readSeries(url, `proxy_upstream_errors_total{target="${target}"}`), 1);
      }
    } finally {
      release();
    }
  }, { proxy: { upstreamTimeoutMs: 500 }, read: { answer }, write: { answer } });
});

Deno.test("Proxy, HTTP: /ready follows the read node's connection; other routes and preflights list allowed methods", () =>
  withProxy(async ({ url, read }) => {
    const status = async (path: string) => {
      const response = await fetch(`${url}${path}`);
      await response.text();
      return response.status;
    };
    assert.equal(await status("/ready"), 200);
    await read.stop();
    await read.until(() => read.connections === 0);
    while (await status("/ready") !== 503);
    const { host } = new URL(read.url);
    const reason = await (await fetch(`${url}/ready`)).text();
    assert.equal(reason, `No WebSocket to a read node: ws://${host}`);
    assert.equal(await status("/health"), 200);
    assert.deepEqual(await Promise.all(["/", "/ws", "/nothing"].map(status)), [200, 426, 404]);
    const preflight = await fetch(url, { method: "OPTIONS", headers: { origin: "https://a.b" } });
    assert.deepEqual([preflight.status, await preflight.text()], [204, ""]);
    assert.equal(preflight.headers.get("access-control-allow-methods"), "GET,POST,OPTIONS");
  }));

Deno.test.each(BOTH_PORTS)(
  "Proxy, WebSocket: calls and batches are routed as over HTTP (%s)",
  (_port, withProxy) =>
    withProxy(async ({ wsUrl, write }) => {
      await using client = await RpcSocket.open(wsUrl);
      assert.deepEqual((await client.call("core_getAccount", ["a"])).result, {
        method: "core_getAccount",
        params: ["a"],
      });
      client.send([
        call(10, "core_getAccount"),
        call(12, "core_sendTransaction", [{}]),
        { jsonrpc: "2.0", method: "net_version" },
      ]);
      await client.waitFor((frame) => Array.isArray(frame));
      const batch: { id: number; result: unknown }[] = JSON.parse(client.frames.at(-1) ?? "");
      assert.deepEqual(batch.map(({ id }) => id), [10, 12]);
      assert.equal(write.requests.length, 1);
    }),
);

Deno.test.each(BOTH_PORTS)(
  "Proxy, WebSocket: concurrent handshakes do not exceed --max-ws-clients (%s)",
  (_port, withProxy) =>
    withProxy(async ({ url, wsUrl }) => {
      const attempts = Array.from({ length: 20 }, () => RpcSocket.open(wsUrl));
      const opened = (await Promise.allSettled(attempts))
        .flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
      const codes: number[] = [];
      for (const client of opened) client.closed.then(({ code }) => codes.push(code));
      const served = () => opened.length - codes.length;
      await eventually("the others are closed", () => served() <= 3, 5_000);
      assert(codes.every((code) => code === 1013), `try again later: ${codes}`);
      assert.equal(await readSeries(url, "proxy_ws_connections_active"), served());
      await Promise.all(opened.map((client) => client.close()));
    }, { proxy: { maxWsClients: 3 } }),
);

Deno.test.each(BOTH_PORTS)(
  "Proxy, WebSocket: reset handshakes are not counted as clients (%s)",
  // The runtime itself never ends the request of such a handshake.
  { sanitizeOps: false },
  (_port, withProxy) =>
    withProxy(async ({ url, wsUrl }) => {
      for (let n = 0; n < 20; n += 1) await resetHandshake(wsUrl);
      await eventually("there is room", async () => {
        return await readSeries(url, "proxy_ws_connections_active") === 0;
      });
      await using client = await RpcSocket.open(wsUrl);
      assert.equal(typeof (await client.call("eth_subscribe", ["newHeads"])).result, "string");
    }, { proxy: { maxWsClients: 5 } }),
);
