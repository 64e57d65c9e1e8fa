import assert from "node:assert/strict";
import { STOP_DEADLINE_MS } from "../../lib/cli/command.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { BOTH_PORTS, withProxy } from "./support.ts";
import { deafClient } from "./deaf_client.ts";
import { handshake, WEBSOCKET_KEY } from "../support/handshake.ts";

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
      assert(performance.now() - startedAt < STOP_DEADLINE_MS);
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
      assert(performance.now() - startedAt < STOP_DEADLINE_MS);
      refused.close();
    }, { proxy: { corsOrigins: ["https://good"] } }),
);
