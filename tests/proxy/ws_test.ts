import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { eventually } from "../support/eventually.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { BOTH_PORTS, call, withProxy } from "./support.ts";
import { handshakeText, WEBSOCKET_KEY } from "../support/handshake.ts";

Deno.test.each(BOTH_PORTS)(
  "Proxy, WebSocket: calls and batches, also with subscribes, are routed as over HTTP (%s)",
  (_port, withProxy) =>
    withProxy(async ({ wsUrl, read, write }) => {
      await using client = await RpcSocket.open(wsUrl);
      assert.deepEqual((await client.call("core_getAccount", ["a"])).result, {
        method: "core_getAccount",
        params: ["a"],
      });
      client.send([
        call(10, "core_getAccount"),
        call(11, "eth_subscribe", ["newHeads"]),
        call(12, "core_sendTransaction", [{}]),
        { jsonrpc: "2.0", method: "net_version" },
        call(13, "eth_unsubscribe", ["0xnone"]),
      ]);
      await client.waitFor((frame) => Array.isArray(frame));
      const batch: { id: number; result: unknown }[] = JSON.parse(client.frames.at(-1) ?? "");
      assert.deepEqual(batch.map(({ id }) => id), [10, 11, 12, 13]);
      assert.equal(batch[3]?.result, false);
      assert.equal(write.requests.length, 1);
      read.notify(["newHeads"], 1);
      await client.waitFor((frame) => frame.params?.subscription === batch[1]?.result);
    }),
);

Deno.test.each(BOTH_PORTS)(
  "Proxy, WebSocket: concurrent handshakes do not exceed --max-ws-clients (%s)",
  (_port, withProxy) =>
    withProxy(async ({ url, wsUrl }) => {
      const attempts = Array.from({ length: 20 }, () => RpcSocket.open(wsUrl));
      const opened = (await Promise.allSettled(attempts)).filter((one) =>
        one.status === "fulfilled"
      );
      const codes: number[] = [];
      for (const { value } of opened) value.closed.then(({ code }) => codes.push(code));
      const served = () => opened.length - codes.length;
      await eventually("the others are closed", () => served() <= 3 || undefined, 5_000);
      assert(codes.every((code) => code === 1013), `try again later: ${codes}`);
      const metrics = await (await fetch(`${url}/metrics`)).text();
      assert.match(metrics, new RegExp(`^proxy_ws_connections_active ${served()}$`, "m"));
      await Promise.all(opened.map(({ value }) => value.close()));
    }, { proxy: { maxWsClients: 3 } }),
);

for (const clientPort of ["main port", "WebSocket port"] as const) {
  Deno.test({
    name: `Proxy, WebSocket: reset handshakes are not counted as clients (${clientPort})`,
    // The runtime itself never ends the request of such a handshake.
    sanitizeOps: false,
    fn: () =>
      withProxy(async ({ url, wsUrl }) => {
        for (let n = 0; n < 20; n += 1) await resetHandshake(wsUrl);
        await eventually("there is room", async () => {
          const metrics = await (await fetch(`${url}/metrics`)).text();
          return /^proxy_ws_connections_active 0$/m.test(metrics) || undefined;
        });
        await using client = await RpcSocket.open(wsUrl);
        assert.equal(typeof (await client.call("eth_subscribe", ["newHeads"])).result, "string");
      }, { clientPort, proxy: { maxWsClients: 5 } }),
  });
}

/** Sends a handshake and resets the connection at once. */
async function resetHandshake(wsUrl: string): Promise<void> {
  const { hostname, port } = new URL(wsUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  await new Promise<void>((resolve) =>
    socket.write(handshakeText(wsUrl, WEBSOCKET_KEY), () => resolve())
  );
  socket.resetAndDestroy();
}
