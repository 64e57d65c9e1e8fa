import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { BOTH_PORTS, deafClient, type Scene, withProxy } from "./support.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { readSeries } from "../support/http_answers.ts";

const CAPACITY = 16;
const MESSAGES = 400;
/** So small that a client which reads nothing soon gets no more than its queue. */
const BUFFERED = 4 * 1024 * 1024;
const padding = "x".repeat(50_000);

const lagged = (url: string) => readSeries(url, 'proxy_ws_messages_total{direction="lagged"}');

/** A client that reads nothing while 20 MB are broadcast, and one that reads all of it. */
async function flood({ wsUrl, read }: Scene) {
  const deaf = await deafClient(wsUrl);
  await deaf.send({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] });
  await read.until(() => read.subscriptions.length === 1);
  const healthy = await RpcSocket.open(wsUrl);
  const id = (await healthy.call("eth_subscribe", ["newHeads"])).result;
  for (let n = 0; n < MESSAGES; n += 1) {
    read.notify(["newHeads"], { n, padding });
    // One at a time for the healthy client, so that only the deaf one is too slow.
    await healthy.waitFor((frame) => isNumber(frame.params?.result, n));
  }
  assert.equal(healthy.notifications(id).length, MESSAGES);
  await healthy.close();
  return deaf;
}

function isNumber(result: unknown, n: number): boolean {
  return typeof result === "object" && result !== null && "n" in result && result.n === n;
}

Deno.test.each(BOTH_PORTS)(
  "Proxy, slow client: misses the oldest notifications, which are counted, and delays no other client (%s)",
  (_port, withProxy) =>
    withProxy(async (scene) => {
      const deaf = await flood(scene);
      // It reads again: exactly the counted notifications are missing, and the newest arrived.
      const text = await deaf.readUntil(`"n":${MESSAGES - 1},`);
      const numbers = [...text.matchAll(/"n":(\d+),/g)].map(([, n]) => Number(n));
      assert(numbers.every((n, index) => index === 0 || n > numbers[index - 1]!), "in order");
      assert(numbers.length < MESSAGES);
      assert.equal(await lagged(scene.url), MESSAGES - numbers.length);
      deaf.close();
    }, { proxy: { broadcastCapacity: CAPACITY, maxBufferedBytes: BUFFERED } }),
);

Deno.test(
  "Proxy, slow client: is closed with --slow-clients close",
  () =>
    withProxy(async (scene) => {
      const deaf = await flood(scene);
      const subscriptions = "proxy_broadcast_active_subscriptions";
      await eventually("its subscription is gone", async () => {
        return await readSeries(scene.url, subscriptions) === 0;
      });
      assert(await lagged(scene.url) > 0);
      deaf.close();
    }, {
      proxy: { broadcastCapacity: CAPACITY, maxBufferedBytes: BUFFERED, slowClients: "close" },
    }),
);
