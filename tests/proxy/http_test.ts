import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import type { EchoNode } from "./echo_node.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { call, connectReads, post, withProxy } from "./support.ts";

/** Texts that a node got, without those of other transports. */
function texts(node: EchoNode): string[] {
  return node.requests.map(({ text }) => text);
}

Deno.test("Proxy, HTTP: parameters, and every byte of an answer but its id, go through unchanged", async (t) => {
  const odd =
    '{ "jsonrpc":"2.0", "id" : 1e2, "method":"eth_call","params":[1.0, "\\u0041"], "x":0}';
  const params = '[1.0, "\\u0041"]';
  const answer = '{\n"result": 12345678901234567890.0 , "id":1e2, "jsonrpc":"2.0"}\n';
  /** The answer under the id of the text. */
  const answerTo = (text: string) => answer.replace("1e2", /"id":(\d+)/.exec(text)?.[1] ?? "");
  const hasSent = ({ read }: { read: EchoNode }) =>
    assert(texts(read)[0]?.includes(`,"method":"eth_call","params":${params}}`));
  await t.step("single, over HTTP", () =>
    withProxy(async ({ url, read }) => {
      assert.equal(await (await post(url, odd)).text(), answer);
      hasSent({ read });
    }, { read: { answer: (text) => new Response(answerTo(text)) } }));
  await t.step(
    "single, over the WebSocket",
    () =>
      withProxy(async ({ url, read }) => {
        await connectReads({ url, read });
        assert.equal(await (await post(url, odd)).text(), answer);
        assert.deepEqual(read.requests.map(({ over }) => over), ["ws"]);
        hasSent({ read });
      }, {
        read: { answer: (text) => new Response(answerTo(text)) },
      }),
  );
  await t.step("batch", () =>
    withProxy(async ({ url, read }) => {
      assert.equal(await (await post(url, ` [ ${odd} ] `)).text(), `[${answer.trim()}]`);
      hasSent({ read });
    }, { read: { answer: (text) => new Response(`[${answerTo(text)}]`) } }));
});

Deno.test("Proxy, HTTP: a mixed batch is split, sent side by side and joined in order", () => {
  const both = Promise.withResolvers<void>();
  let arrived = 0;
  // Neither node answers before the other was asked, and each answers in the wrong order.
  const answer = async (text: string) => {
    arrived += 1;
    if (arrived === 2) both.resolve();
    await both.promise;
    const calls: { id: unknown; method: string }[] = JSON.parse(text);
    const answers = calls.map(({ id, method }) => ({ jsonrpc: "2.0", id, result: method }));
    return Response.json(answers.reverse());
  };
  return withProxy(async ({ url, read, write }) => {
    const methods = [
      "core_getAccount",
      "core_sendTransaction",
      "eth_call",
      "eth_sendBundle",
      "x_y",
    ];
    const batch = methods.map((method, index) => call(index, method));
    const response = await post(url, [...batch.slice(0, 2), 7, ...batch.slice(2)]);
    assert.equal(response.status, 200);
    const answers: { id: number; result?: string; error?: { code: number } }[] = await response
      .json();
    assert.deepEqual(answers.map(({ result, error }) => result ?? error?.code), [
      "core_getAccount",
      "core_sendTransaction",
      -32600,
      "eth_call",
      "eth_sendBundle",
      "x_y",
    ]);
    assert.deepEqual([read.requests.length, write.requests.length], [1, 1]);
  }, { read: { answer }, write: { answer } });
});

Deno.test("Proxy, HTTP: errors and statuses of a node go through untouched", () => {
  const body = '{"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"no","data":{"a":[1]}}}';
  return withProxy(async ({ url }) => {
    const response = await post(url, call(1, "core_settleThesis"));
    assert.deepEqual([response.status, await response.text()], [429, body]);
  }, { write: { answer: () => new Response(body, { status: 429 }) } });
});

Deno.test("Proxy, HTTP: an invalid or missing answer of a node is -32002 with 502, a late one with 504", async (t) => {
  const expectFailure = async (response: Response, status: number) => {
    const { id, error } = await response.json();
    assert.deepEqual([response.status, id, error.code], [status, 1, -32002], error.message);
  };
  for (const reads of ["auto", "http"] as const) {
    const proxy = { upstreamTimeoutMs: 500, reads };
    const way = reads === "auto" ? "WebSocket" : "HTTP";
    await t.step(
      `nobody there, reads over ${way}`,
      () =>
        withProxy(async ({ url, read, write }) => {
          if (reads === "auto") await connectReads({ url, read });
          await Promise.all([read.stop(), write.stop()]);
          await expectFailure(await post(url, call(1, "eth_chainId")), 502);
          await expectFailure(await post(url, call(1, "core_sendTransaction")), 502);
          const batch = await (await post(url, [call(1, "eth_chainId")])).json();
          assert.equal(batch[0].error.code, -32002);
        }, { proxy: { reads } }),
    );
    // It answers the proxy's own checks.
    const slow = new Set(["eth_blockNumber", "core_sendTransaction"]);
    const { promise: never, resolve: release } = Promise.withResolvers<void>();
    const late = async (text: string) => {
      const { id, method } = JSON.parse(text);
      if (slow.has(method)) await never;
      return Response.json({ jsonrpc: "2.0", id, result: 1 });
    };
    await t.step(`no answer in time, reads over ${way}`, () =>
      withProxy(async ({ url, read }) => {
        try {
          if (reads === "auto") await connectReads({ url, read });
          await expectFailure(await post(url, call(1, "eth_blockNumber")), 504);
          await expectFailure(await post(url, call(1, "core_sendTransaction")), 504);
          const metrics = await (await fetch(`${url}/metrics`)).text();
          assert.match(metrics, /^proxy_upstream_errors_total\{target="read"\} 1$/m);
          assert.match(metrics, /^proxy_upstream_errors_total\{target="write"\} 1$/m);
        } finally {
          release();
        }
      }, { proxy, read: { answer: late }, write: { answer: late } }));
  }
  await t.step("a redirect, which would send a write twice", () => {
    const answer = () => new Response(null, { status: 307, headers: { location: "/again" } });
    return withProxy(async ({ url, write }) => {
      await expectFailure(await post(url, call(1, "core_sendTransaction")), 502);
      assert.equal(write.requests.length, 1);
    }, { write: { answer } });
  });
  await t.step("an answer that would fill the memory", () => {
    const huge = () => {
      const chunk = new Uint8Array(1024 * 1024).fill(0x20);
      return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }));
    };
    return withProxy(async ({ url }) => {
      await expectFailure(await post(url, call(1, "core_sendTransaction")), 502);
    }, { write: { answer: huge } });
  });
  await t.step("a page instead of JSON", () =>
    withProxy(async ({ url }) => {
      await expectFailure(await post(url, call(1, "core_sendTransaction")), 502);
      const batch = await (await post(url, [call(1, "core_sendTransaction")])).json();
      assert.equal(batch[0].error.code, -32002);
    }, { write: { answer: () => new Response("<html>", { status: 503 }) } }));
});

Deno.test("Proxy, HTTP: reads over a WebSocket have one of their own, and each gets its own answer", () =>
  withProxy(async ({ url, wsUrl, read }) => {
    const client = await RpcSocket.open(wsUrl);
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
    await client.close();
  }));

Deno.test("Proxy, HTTP: ready while the read node is connected; other routes, preflights too, say what they take", () =>
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
