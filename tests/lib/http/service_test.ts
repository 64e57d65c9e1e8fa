import assert from "node:assert/strict";
import { Hono } from "hono";
import { Gauge } from "prom-client";
import { afterInput } from "../../../lib/clock.ts";
import { createRegistry } from "../../../lib/http/metrics.ts";
import { listen, ListenError } from "../../../lib/http/listener.ts";
import { startService } from "../../../lib/http/service.ts";
import { handshake, WEBSOCKET_KEY } from "../../support/rpc_socket.ts";

function definition(app = new Hono()) {
  return {
    name: "sample",
    host: "127.0.0.1",
    port: 0,
    app,
    health: () => Response.json({ status: "ok" }),
    registry: createRegistry(),
  };
}

Deno.test("startService: the error for an address of another machine does not mention the port", () => {
  assert.throws(() => startService({ ...definition(), host: "203.0.113.1" }), (thrown) => {
    assert(thrown instanceof ListenError);
    assert(!thrown.message.includes("--port"), thrown.message);
    return true;
  });
});

Deno.test("listen: the URL of a listener on every interface can be called", async () => {
  for (const [host, bound] of [["0.0.0.0", "0.0.0.0"], ["::", "[::]"]] as const) {
    await using listener = listen(host, 0, () => new Response("here"));
    const { port } = new URL(listener.url);
    assert.equal(listener.boundUrl, `http://${bound}:${port}`);
    assert.equal(await (await fetch(listener.url)).text(), "here");
  }
  await using own = listen("127.0.0.1", 0, () => new Response("here"));
  assert.equal(own.boundUrl, own.url);
});

Deno.test("listen: a URL that is long, or has a % without an encoded character, is refused", async () => {
  await using listener = listen("127.0.0.1", 0, () => new Response("here"));
  const ask = async (rest: string) => {
    const answer = await fetch(listener.url + rest);
    return [answer.status, (await answer.text()).match(/INVALID_REQUEST: URL has/)?.length];
  };
  for (const rest of ["/a?b=%41&c=%25", "/%C3%A9", `/?${"a".repeat(4_000)}`]) {
    assert.deepEqual(await ask(rest), [200, undefined], rest);
  }
  for (const rest of ["/a?b=%", "/?%zz", "/%80", `/?${"a".repeat(4_096)}`]) {
    assert.deepEqual(await ask(rest), [400, 1], rest);
  }
});

Deno.test("startService: requests of metrics that come together share one text, a later one has a new text", async () => {
  const registry = createRegistry();
  let collected = 0;
  new Gauge({
    name: "collected",
    help: "How often",
    registers: [registry],
    async collect() {
      await new Promise<void>(afterInput);
      this.set(collected += 1);
    },
  });
  await using service = startService({ ...definition(), registry });
  const read = async () => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return Number(/^collected (\d+)$/m.exec(text)?.[1]);
  };
  await Promise.all(Array.from({ length: 100 }, read));
  assert(collected < 50, `${collected} texts for 100 requests`);
  assert.equal(await read(), collected);
});

Deno.test("startService: drains, then closes, and does so once for several stops", async () => {
  const order: string[] = [];
  const service = startService({
    ...definition(),
    drain: () => void order.push("drain"),
    close: () => void order.push("close"),
  });
  await Promise.all([service.stop(), service.stop()]);
  assert.deepEqual(order, ["drain", "close"]);
});

/** Upgrades a request to a WebSocket and fills its peer's window, so that nothing can be sent to it. */
function flood(request: Request, flooded: (socket: WebSocket) => void): Response {
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onopen = () => {
    for (let sent = 0; sent < 64; sent += 1) socket.send("x".repeat(1 << 20));
    flooded(socket);
  };
  return response;
}

Deno.test({
  name: "startService: stops in time even if a WebSocket client reads nothing",
  // The operation that sends the close frame ends with the peer, without an event.
  sanitizeOps: false,
  async fn() {
    const flooded = Promise.withResolvers<WebSocket>();
    const service = startService({
      ...definition(),
      beforeRoutes: (request) => flood(request, flooded.resolve),
      drain: async () => (await flooded.promise).close(1012),
    });
    // A raw peer, since the platform's client would read.
    const [peer] = await handshake(service.url, WEBSOCKET_KEY);
    await flooded.promise;
    const startedAtMs = performance.now();
    await service.stop();
    assert(performance.now() - startedAtMs < 5_000);
    peer.close();
  },
});
