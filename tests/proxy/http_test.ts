import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { call, connectReads, post, withProxy } from "./support.ts";

Deno.test("Proxy, HTTP: parameters and answers pass through a read socket unchanged, except for the id", () => {
  const odd =
    '{ "jsonrpc":"2.0", "id" : 1e2, "method":"eth_call","params":[1.0, "\\u0041"], "x":0}';
  const answer = '{\n"result": 12345678901234567890.0 , "id":1e2, "jsonrpc":"2.0"}\n';
  return withProxy(async ({ url, read }) => {
    await connectReads({ url, read });
    assert.equal(await (await post(url, odd)).text(), answer);
    const [{ over, text } = assert.fail()] = read.requests;
    assert.equal(over, "ws");
    assert(text.includes(',"method":"eth_call","params":[1.0, "\\u0041"]}'), text);
  }, {
    read: {
      answer: (text) => new Response(answer.replace("1e2", /"id":(\d+)/.exec(text)?.[1] ?? "")),
    },
  });
});

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
      const metrics = await (await fetch(`${url}/metrics`)).text();
      assert.match(metrics, /^proxy_upstream_errors_total\{target="read"\} 1$/m);
      assert.match(metrics, /^proxy_upstream_errors_total\{target="write"\} 1$/m);
    } finally {
      release();
    }
  }, { proxy: { upstreamTimeoutMs: 500 }, read: { answer }, write: { answer } });
});

Deno.test("Proxy, HTTP: reads use a WebSocket of their own, and each gets its own answer", () =>
  withProxy(async ({ url, wsUrl, read }) => {
    await using client = await RpcSocket.open(wsUrl);
    const { result: id } = await client.call("eth_subscribe", ["newHeads"]);
    await connectReads({ url, read });
    const answers = Array.from({ length: 20 }, async (_, n) => {
      const answer = await (await post(url, call(n, "eth_getBalance", [String(n)]))).json();
      read.notify(["newHeads"], n);
      return answer;
    });
    for (const [n, answer] of (await Promise.all(answers)).entries()) {
      const result = { method: "eth_getBalance", params: [String(n)] };
      assert.deepEqual(answer, { jsonrpc: "2.0", id: n, result });
    }
    await eventually(
      "all notifications",
      () => client.notifications(String(id)).length === 20 || undefined,
    );
    assert.deepEqual([read.connections, read.requests.length], [2, 20]);
    assert(read.requests.every(({ over }) => over === "ws"));
  }));

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
    assert.equal(await status("/health"), 200);
    assert.deepEqual(await Promise.all(["/", "/ws", "/nothing"].map(status)), [200, 426, 404]);
    const preflight = await fetch(url, { method: "OPTIONS", headers: { origin: "https://a.b" } });
    assert.deepEqual([preflight.status, await preflight.text()], [204, ""]);
    assert.equal(preflight.headers.get("access-control-allow-methods"), "GET,POST,OPTIONS");
  }));
