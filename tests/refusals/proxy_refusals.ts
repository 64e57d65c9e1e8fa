import { type SceneOptions, withProxy } from "../proxy/support.ts";
import { eventually } from "../support/eventually.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { callOf, invalid, wrongMessages } from "./rpc_messages.ts";
import type { Expected, Refusals } from "./support.ts";

/** A handshake as it should be. */
const HANDSHAKE = {
  ...{ upgrade: "websocket", connection: "Upgrade" },
  "sec-websocket-version": "13",
  "sec-websocket-key": btoa("sixteen bytes of"),
};

/** Everything that the proxy refuses. */
export async function refuseAtProxy(refusals: Refusals): Promise<void> {
  const given: SceneOptions = {
    clientPort: "WebSocket port",
    proxy: { corsOrigins: ["https://app.example"], maxSubscriptionsPerClient: 1 },
  };
  await withProxy(async ({ url, wsUrl, read, write }) => {
    for (const refused of wrongMessages(1_000)) await refusals.ask(url, refused);
    const limited = { path: "", status: 413, code: "-32005", advice: "send" };
    const calls = Array.from({ length: 1_001 }, () => callOf("eth_chainId", []));
    await refusals.ask(url, { ...limited, body: calls, names: "1001 calls" });
    const long = "x".repeat(6 * 2 ** 20);
    await refusals.ask(url, { ...limited, body: long, names: "Body is over 5242880 bytes" });
    await refusals.ask(url, {
      ...{ method: "PUT", path: "/", status: 405, code: "METHOD_NOT_ALLOWED" },
      ...{ names: "JSON-RPC request", received: "PUT", advice: "Expected POST" },
    });
    await refusals.ask(url, {
      ...{ path: "/ws", status: 426, code: "UPGRADE_REQUIRED", names: "GET /ws" },
      advice: "connect with a WebSocket client",
    });
    const page = { path: "/", status: 426, code: "UPGRADE_REQUIRED", names: "GET /ws" };
    const wsPort = wsUrl.replace(/^ws(.*)\/ws$/, "http$1");
    await refusals.ask(wsPort, { ...page, advice: "connect with a WebSocket client" });
    const socket = await RpcSocket.open(wsUrl);
    const subscribe = async (params: unknown[], expected: Omit<Expected, "status">) => {
      const answer = await socket.call("eth_subscribe", params);
      refusals.check(200, answer, { status: 200, ...expected }, JSON.stringify(params));
    };
    const tooMuch = { code: "-32005", advice: "ask for less" };
    await subscribe(["x".repeat(5_000)], { ...tooMuch, names: "over 4096 bytes" });
    await socket.call("eth_subscribe", ["newHeads"]);
    const full = { names: "A client may have 1 subscriptions", advice: "end one first" };
    await subscribe(["prices"], { code: "-32005", ...full });
    const unsubscribed = await socket.call("eth_unsubscribe", [5]);
    const wrongId = { ...invalid("5", "takes the id of a subscription"), status: 200 };
    refusals.check(200, unsubscribed, wrongId, "[5]");
    await socket.close();
    await Promise.all([read.stop(), write.stop()]);
    const away = { path: "", status: 502, code: "-32002" };
    const body = callOf("eth_chainId", []);
    await eventually("the read node is away", async () => {
      const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
      await answer.body?.cancel();
      return answer.status === 502 || undefined;
    });
    await refusals.ask(url, { ...away, body, names: "The read node", advice: "try again" });
    const tx = callOf("core_sendTransaction", []);
    await refusals.ask(url, { ...away, body: tx, names: "The write node", advice: "again" });
  }, given);
  const body = callOf("eth_chainId", []);
  const noJson = { answer: () => new Response("oops") };
  await withProxy(async ({ url }) => {
    await refusals.ask(url, {
      ...{ path: "", body, status: 502, code: "-32002", names: "The read node gave no answer" },
      advice: "try again",
    });
    const full = { code: "-32005", names: "0 clients are connected", advice: "try again later" };
    await refusals.ask(url, { path: "/ws", headers: HANDSHAKE, status: 429, ...full });
    for (let n = 0; n < 2; n++) await (await fetch(url, { method: "POST", body: "1" })).text();
    await refusals.ask(url, {
      ...{ path: "", body, status: 429, code: "-32005", names: "Too many requests" },
      advice: "retry after",
    });
  }, { read: noJson, proxy: { rateLimit: 1, maxWsClients: 0 } });
}
