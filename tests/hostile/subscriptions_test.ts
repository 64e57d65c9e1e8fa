/** Clients whose subscriptions harm others on the shared socket to the read node. */
import assert from "node:assert/strict";
import { createPublicClient, SocketClosedError, webSocket } from "viem";
import { eventually } from "../support/eventually.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { withProxy } from "../proxy/support.ts";
import { readSeries } from "../support/http_answers.ts";
import { AddressedClient, HonestClient } from "./honest_client.ts";

const MIB = 1024 * 1024;

/** A node that closes a socket on a frame over a MiB, and on the subscription `poison`. */
const touchyNode = {
  closeOn: (text: string) => text.length > MIB || text.includes('"poison"') ? 1009 : undefined,
};

function address(n: number): string {
  return `0x${n.toString(16).padStart(40, "0")}`;
}

Deno.test("Hostile: a subscription on which the node closes the socket is refused and not requested again", () =>
  withProxy(async (scene) => {
    const { read } = scene;
    const honest = await HonestClient.open(scene);
    const attacker = await RpcSocket.open(scene.wsUrl);
    assert.equal((await attacker.call("eth_subscribe", ["poison"])).error?.code, -32005);
    await read.until(() => read.subscriptions.length === 1); // the heads are back
    for (let id = 2; id <= 5; id += 1) {
      assert.equal((await attacker.call("eth_subscribe", ["poison"])).error?.code, -32005);
    }
    await honest.work();
    assert.equal(read.closedOn.length, 1);
    await Promise.all([attacker.close(), honest.close()]);
  }, { read: touchyNode }));

/** Sockets that subscribe to as many different `logs` as they can, each from its address. */
async function takeAll(wsUrl: string, addresses: readonly string[], wanted: number, first = 0) {
  const sockets = await Promise.all(addresses.map((from) => AddressedClient.open(wsUrl, from)));
  await Promise.all(sockets.flatMap((socket, index) =>
    Array.from({ length: wanted }, (_, n) => {
      const filter = { address: address(first + index * wanted + n) };
      return socket?.call("eth_subscribe", ["logs", filter]);
    })
  ));
  return sockets.filter((socket) => socket !== undefined);
}

/** Addresses of this machine, so that no load balancer is needed to have them. */
const loopback = (count: number) => Array.from({ length: count }, (_, n) => `127.0.1.${1 + n}`);

Deno.test("Hostile: viem notices a close in favour of a newcomer, reconnects and subscribes again", () =>
  withProxy(async ({ url, wsUrl, read }) => {
    const transport = webSocket(wsUrl, {
      keepAlive: false,
      reconnect: { delay: 10 },
      retryCount: 0,
    });
    const client = createPublicClient({ transport });
    const errors: unknown[] = [];
    const got: unknown[] = [];
    for (const topic of ["a", "b"]) {
      await client.transport.subscribe({
        // The types know no kinds but Ethereum's.
        params: ["logs", { topics: [topic] }] as never,
        onData: ({ result }) => got.push(result),
        onError: (error) => errors.push(error),
      });
    }
    const others = await takeAll(wsUrl, loopback(14), 1);
    const [newcomer] = await takeAll(wsUrl, ["127.0.2.1"], 1, 100);
    await eventually("it reports so", () => errors.length >= 2);
    for (const error of errors.slice(0, 2)) assert(error instanceof SocketClosedError);
    // Of its two subscriptions one is the share of its address now.
    const own = () => read.subscriptions.filter((text) => text.includes("topics"));
    await read.until(() => own().length === 1);
    assert.equal(await readSeries(url, "proxy_upstream_subscriptions"), read.subscriptions.length);
    read.notify(JSON.parse(own()[0] ?? assert.fail()), "goes on");
    await eventually("it is notified", () => got.length === 1);
    await Promise.all([...others, newcomer].map((client) => client?.close()));
    (await client.transport.getRpcClient()).close();
  }, { proxy: { maxUpstreamSubscriptions: 16 } }));
