import assert from "node:assert/strict";
import { ListenError } from "../../lib/http/listener.ts";
import { UsageError } from "../../lib/cli/options.ts";
import { handshake, RpcSocket, WEBSOCKET_KEY } from "../support/rpc_socket.ts";
import { BOTH_PORTS, call, deafClient, post, startTestProxy, withProxy } from "./support.ts";
import { withCertificate } from "../support/certificate.ts";
import { bundledProgram, hasProgram, Program } from "../support/process.ts";
import { RawNode } from "./node/http_pool_scene.ts";

Deno.test("Proxy: options that contradict each other are a usage error", async () => {
  const [a, b] = ["127.0.0.1:1", "127.0.0.1:2"];
  const nodes = { readNodeUrl: `http://${a},http://${b}`, readNodeWsUrl: `ws://${a}` };
  await assert.rejects(startTestProxy(nodes), UsageError);
});

Deno.test("Proxy: with --reuse-port several proxies share their ports, each with its own metrics", () =>
  withProxy(async ({ read }) => {
    const overrides = { wsPort: 0, metricsPort: 0, reusePort: true, readNodeUrl: read.url };
    const first = await startTestProxy(overrides);
    const portOf = (url: string | undefined) => Number(new URL(url ?? "").port);
    const ports = { port: portOf(first.url), wsPort: portOf(first.wsPortUrl) };
    const second = await startTestProxy({ ...overrides, ...ports });
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

Deno.test("Proxy: if a port is in use, the start fails and leaves nothing running", async () => {
  const overrides = { metricsPort: 0, wsPort: 0, readNodeUrl: "http://127.0.0.1:1" };
  await using first = await startTestProxy(overrides);
  const port = Number(new URL(first.url).port);
  const inUse = [{ port }, { metricsPort: port }, { wsPort: port }, { port, reusePort: true }];
  for (const taken of inUse) {
    await assert.rejects(startTestProxy({ ...overrides, ...taken }), ListenError);
  }
});

Deno.test("Proxy: two ports that are the same are refused, also where ports may be shared", async () => {
  const same = { port: 8_546, wsPort: 8_546, reusePort: true };
  await assert.rejects(startTestProxy(same), {
    name: "UsageError",
    message: "Invalid --ws-port: Expected another port than --port: received 8546",
  });
});

Deno.test.each(BOTH_PORTS)(
  "Proxy, shutdown: closes clients with 1012 and accepts no new ones (%s)",
  (_port, withProxy) =>
    withProxy(async ({ wsUrl, read, stopProxy }) => {
      const clients = await Promise.all([1, 2].map(() => RpcSocket.open(wsUrl)));
      await clients[0]?.call("eth_subscribe", ["newHeads"]);
      await stopProxy();
      for (const client of clients) assert.equal((await client.closed).code, 1012);
      await assert.rejects(RpcSocket.open(wsUrl));
      await read.until(() => read.connections === 0);
    }),
);

Deno.test("Proxy, shutdown: not ready while it waits for clients to close", () =>
  withProxy(async ({ url, wsUrl, stopProxy }) => {
    const ready = async () => await (await fetch(`${url}/ready`)).text();
    assert.equal(await ready(), "OK");
    const client = await deafClient(wsUrl); // never answers the close
    const stopped = stopProxy();
    assert.equal(await ready(), "Shutting down");
    await stopped;
    client.close();
  }));

Deno.test.each(BOTH_PORTS)(
  "Proxy, shutdown: ends in time even if a client reads nothing (%s)",
  (_port, withProxy) =>
    withProxy(async ({ wsUrl, read, stopProxy }) => {
      const client = await deafClient(wsUrl);
      await client.send({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] });
      await read.until(() => read.subscriptions.length === 1);
      const padding = "x".repeat(100_000);
      for (let n = 0; n < 200; n += 1) read.notify(["newHeads"], { n, padding });
      const witness = await RpcSocket.open(wsUrl);
      const { result } = await witness.call("eth_subscribe", ["newHeads"]);
      read.notify(["newHeads"], "last");
      await witness.waitFor((frame) => frame.params?.subscription === result);
      const startedAt = performance.now();
      await stopProxy();
      assert(performance.now() - startedAt < 5_000);
      client.close();
    }),
);

Deno.test.each(BOTH_PORTS)(
  "Proxy, shutdown: is not delayed by a refused client that keeps its connection (%s)",
  (_port, withProxy) =>
    withProxy(async ({ wsUrl, stopProxy }) => {
      const [refused] = await handshake(wsUrl, WEBSOCKET_KEY, "Origin: https://bad");
      const startedAt = performance.now();
      await stopProxy();
      assert(performance.now() - startedAt < 5_000);
      refused.close();
    }, { proxy: { corsOrigins: ["https://good"] } }),
);

Deno.test(
  "Proxy, TLS: a node trusted by --cert gets the caller's address, and each write once",
  { ignore: !hasProgram("openssl", "version") },
  () =>
    withCertificate(async ({ authority, cert, key }) => {
      const writes: string[] = [];
      const node = new RawNode((_, text) => {
        if (!text.startsWith("POST")) return { pieces: [], ends: true }; // it takes no WebSocket
        const isLost = writes.push(text) === 2;
        const body = `{"jsonrpc":"2.0","id":${/"id":(\d+)/.exec(text)?.[1]},"result":1}`;
        const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
        return { pieces: isLost ? [] : [answer], ends: isLost };
      }, { cert, key });
      const port = await node.listen();
      const cases = [["localhost", true], ["127.0.0.1", true], ["localhost", false]];
      for (const [host, isTrusted] of cases) {
        const nodeUrl = `https://${host}:${port}`;
        const urls = ["--read-node-url", nodeUrl, "--write-node-url", nodeUrl];
        const env: Record<string, string> = isTrusted ? { DENO_CERT: authority } : {};
        const args = ["proxy", "--port", "0", ...urls];
        const program = new Program(args, env, await bundledProgram());
        const listening = /Listening on "?(http:\/\/[\d.]+:\d+)/;
        await program.until(({ stderr }) => listening.test(stderr));
        const url = listening.exec(program.stderr)?.[1] ?? assert.fail();
        writes.length = 0;
        const statuses: number[] = [];
        for (let n = 0; n < 3; n += 1) {
          const answer = await post(url, call(1, "core_settleThesis", [n]));
          await answer.text();
          statuses.push(answer.status);
        }
        assert.deepEqual(statuses, isTrusted ? [200, 502, 200] : [502, 502, 502], `${host}`);
        assert.equal(writes.length, isTrusted ? 3 : 0);
        program.kill("SIGTERM");
        await program.finished();
      }
      await node.stop();
    }),
);
