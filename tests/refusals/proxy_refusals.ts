import { type SceneOptions, withProxy } from "../proxy/support.ts";
import { eventually } from "../support/eventually.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { callOf, type Expected, invalid, type Refusals, says, wrongMessages } from "./support.ts";

const HANDSHAKE = {
  upgrade: "websocket",
  connection: "Upgrade",
  "sec-websocket-version": "13",
  "sec-websocket-key": btoa("sixteen bytes of"),
};

const upgrade = says("426 UPGRADE_REQUIRED", "GET /ws", "connect with a WebSocket client");

export async function refuseAtProxy(refusals: Refusals): Promise<void> {
  const given: SceneOptions = {
    clientPort: "WebSocket port",
    proxy: { corsOrigins: ["https://app.example"], maxSubscriptionsPerClient: 1 },
  };
  const read = callOf("eth_chainId", []);
  await withProxy(async (scene) => {
    const { url, wsUrl } = scene;
    for (const refused of wrongMessages(1_000)) await refusals.ask(url, refused);
    const ask = (body: unknown, expected: Expected) =>
      refusals.ask(url, { path: "", body, ...expected });
    await ask(Array(1_001).fill(read), says("413 -32005", "1001 calls", "send"));
    await ask("x".repeat(6 * 2 ** 20), says("413 -32005", "Body is over 5242880 bytes", "send"));
    await refusals.ask(url, {
      method: "PUT",
      path: "/",
      ...says("405 METHOD_NOT_ALLOWED", "/", "PUT", "answers GET, POST"),
    });
    await refusals.ask(url, { path: "/ws", ...upgrade });
    await refusals.ask(wsUrl.replace(/^ws(.*)\/ws$/, "http$1"), { path: "/", ...upgrade });
    const socket = await RpcSocket.open(wsUrl);
    const call = async (method: string, params: unknown[], expected: Expected) =>
      refusals.check(await socket.call(method, params), expected, JSON.stringify(params));
    const long = says("200 -32005", "over 4096 bytes", "ask for less");
    await call("eth_subscribe", ["x".repeat(5_000)], long);
    await socket.call("eth_subscribe", ["newHeads"]);
    const full = says("200 -32005", "A client may have 1 subscriptions", "end one first");
    await call("eth_subscribe", ["prices"], full);
    await call("eth_unsubscribe", [5], invalid("Invalid params", "5", "the id of a subscription"));
    await socket.close();
    await Promise.all([scene.read.stop(), scene.write.stop()]);
    await eventually("the read node is away", async () => {
      const answer = await fetch(url, { method: "POST", body: JSON.stringify(read) });
      await answer.body?.cancel();
      return answer.status === 502;
    });
    await ask(read, says("502 -32002", "The read node", "try again"));
    await ask(callOf("core_sendTransaction", []), says("502 -32002", "The write node", "again"));
  }, given);
  const noJson = { answer: () => new Response("oops") };
  await withProxy(async ({ url }) => {
    const noAnswer = says("502 -32002", "The read node gave no answer", "try again");
    await refusals.ask(url, { path: "", body: read, ...noAnswer });
    const full = says("429 -32005", "0 clients are connected", "try again later");
    await refusals.ask(url, { path: "/ws", headers: HANDSHAKE, ...full });
    for (let n = 0; n < 2; n++) await (await fetch(url, { method: "POST", body: "1" })).text();
    const often = says("429 -32005", "Too many requests", "retry after");
    await refusals.ask(url, { path: "", body: read, ...often });
  }, { read: noJson, proxy: { rateLimit: 1, maxWsClients: 0 } });
}
