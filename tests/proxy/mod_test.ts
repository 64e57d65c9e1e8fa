import assert from "node:assert/strict";
import { ListenError } from "../../lib/http/listener.ts";
import { UsageError, withDefaults } from "../../lib/cli/options.ts";
import { options, startProxy } from "../../services/proxy/mod.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { withProxy } from "./support.ts";

Deno.test("Proxy: --reconnect-initial-ms above --reconnect-max-ms is a usage error, an equal value is not", async () => {
  const overrides = { port: 0, readNodeUrl: "http://127.0.0.1:1", reconnectMaxMs: 10 };
  const proxyWith = (reconnectInitialMs: number) =>
    startProxy(withDefaults(options, { ...overrides, reconnectInitialMs }));
  await assert.rejects(proxyWith(11), UsageError);
  await (await proxyWith(10)).stop();
});

Deno.test("Proxy: with --reuse-port several proxies share their ports, each with its own metrics", () =>
  withProxy(async ({ read }) => {
    const overrides = {
      port: 0,
      wsPort: 0,
      metricsPort: 0,
      reusePort: true,
      readNodeUrl: read.url,
    };
    const first = await startProxy(withDefaults(options, overrides));
    const portOf = (url: string | undefined) => Number(new URL(url ?? "").port);
    const ports = { port: portOf(first.url), wsPort: portOf(first.wsPortUrl) };
    const second = await startProxy(withDefaults(options, { ...overrides, ...ports }));
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
  const overrides = { port: 0, metricsPort: 0, wsPort: 0, readNodeUrl: "http://127.0.0.1:1" };
  await using first = await startProxy(withDefaults(options, overrides));
  const port = Number(new URL(first.url).port);
  const inUse = [{ port }, { metricsPort: port }, { wsPort: port }, { port, reusePort: true }];
  for (const taken of inUse) {
    await assert.rejects(
      startProxy(withDefaults(options, { ...overrides, ...taken })),
      ListenError,
    );
  }
});
