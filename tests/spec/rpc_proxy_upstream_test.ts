/**
 * Part A of the proxy and bridge document: routing, the hub's subscription lifecycle step by step,
 * and states. The nodes record the proxy's requests. Waits between attempts:
 * tests/lib/net/backoff_test.ts; the broadcast capacity: tests/proxy/hub/broadcast_ring_test.ts.
 */
import assert from "node:assert/strict";
import { EchoNode } from "../proxy/echo_node.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { call, post, withProxy } from "../proxy/support.ts";
import { readSeries } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";

/** A test between two nodes; it fails instead of hanging if an event does not come. */
function scene(name: string, ...play: Parameters<typeof withProxy>): void {
  Deno.test(name, () => withProxy(...play));
}

const SECTION = "RPC proxy, Subscription lifecycle";
const HEADS = ["newHeads"];
const LOGS = ["logs", {}];

for (
  const [method, target] of [
    ["core_sendTransaction", "write"],
    ["core_getAccount", "read"],
    ["core_simulateTransaction", "read"],
  ] as const
) {
  scene(
    `RPC proxy, Routing, ${method}: is sent only to the ${target} node`,
    async ({ url, read, write }) => {
      const message = call(5, method, [{ any: "thing" }]);
      const answer = await (await post(url, message)).json();
      const result = { method, params: [{ any: "thing" }] };
      assert.deepEqual(answer, { jsonrpc: "2.0", id: 5, result });
      const asked = { read, write }[target].requests.map(({ text }) => JSON.parse(text).method);
      assert.deepEqual(asked, [method]);
      assert.equal(read.requests.length + write.requests.length, 1);
    },
  );
}

for (const method of ["eth_subscribe", "eth_unsubscribe"]) {
  scene(
    `RPC proxy, Routing, ${method}: is sent to the read node through the hub`,
    async ({ wsUrl, read, write }) => {
      await using client = await RpcSocket.open(wsUrl);
      const id = (await client.call("eth_subscribe", ["newHeads"])).result;
      if (method === "eth_unsubscribe") await client.call(method, [id]);
      await read.until(() => read.calls.some((sent) => sent.method === method));
      assert.deepEqual([write.calls.length, write.connections], [0, 0]);
      assert.equal(read.requests.length + write.requests.length, 0, "and not past the hub");
    },
  );
}

/** Opens a client, and subscribes it. */
async function subscribed(wsUrl: string, params: unknown[]) {
  const client = await RpcSocket.open(wsUrl);
  const { result: id } = await client.call("eth_subscribe", params);
  assert.ok(typeof id === "string");
  return { client, id };
}

const isNotice = ({ method }: { method?: string }) => method === "eth_subscription";

scene(`${SECTION}, step 1: eth_subscribe is forwarded upstream`, async ({ wsUrl, read }) => {
  const { client } = await subscribed(wsUrl, LOGS);
  assert.deepEqual(
    read.calls.map(({ method, params }) => ({ method, params })),
    [{ method: "eth_subscribe", params: LOGS }],
  );
  await client.close();
});

scene(
  `${SECTION}, step 2: the client gets the node's id, and notifications under it`,
  async ({ wsUrl, read }) => {
    const { client, id } = await subscribed(wsUrl, HEADS);
    assert.equal(id, "0xabc1");
    read.notify(HEADS, { number: "0x1" });
    const frame = await client.waitFor(isNotice);
    assert.deepEqual(frame.params, { subscription: "0xabc1", result: { number: "0x1" } });
    await client.close();
  },
  { read: { subscriptionId: (n) => `0xabc${n}` } },
);

scene(
  `${SECTION}, step 3: a notification reaches only the clients of its subscription`,
  async ({ wsUrl, read }) => {
    const [alice, bob, carol] = [
      await subscribed(wsUrl, HEADS),
      await subscribed(wsUrl, HEADS),
      await subscribed(wsUrl, LOGS),
    ];
    read.notify(HEADS, "head");
    read.notify(LOGS, "log");
    await Promise.all([alice, bob, carol].map(({ client }) => client.waitFor(isNotice)));
    assert.deepEqual(alice.client.notifications(alice.id), ["head"]);
    assert.deepEqual(bob.client.notifications(bob.id), ["head"]);
    assert.deepEqual(carol.client.notifications(carol.id), ["log"]);
    const frames = [alice, bob, carol].map(({ client }) => client.frames.length);
    assert.deepEqual(frames, [2, 2, 2], "an answer and a notification each");
    await Promise.all([alice, bob, carol].map(({ client }) => client.close()));
  },
);

scene(
  `${SECTION}, step 4: eth_unsubscribe removes only that client`,
  async ({ wsUrl, read }) => {
    const [alice, bob] = [await subscribed(wsUrl, HEADS), await subscribed(wsUrl, HEADS)];
    assert.equal((await alice.client.call("eth_unsubscribe", [alice.id])).result, true);
    read.notify(HEADS, "head");
    await bob.client.waitFor(isNotice);
    // A call after the notification: had one come for this client, it would be there by now.
    await alice.client.call("eth_chainId");
    assert.deepEqual(alice.client.notifications(alice.id), []);
    await Promise.all([alice.client.close(), bob.client.close()]);
  },
);

for (const leave of ["unsubscribes", "disconnects"] as const) {
  scene(
    `${SECTION}, step 5: upstream is unsubscribed only after the last client ${leave}`,
    async ({ url, wsUrl, read }) => {
      const [alice, bob] = [await subscribed(wsUrl, HEADS), await subscribed(wsUrl, HEADS)];
      const end = async ({ client, id }: typeof alice) => {
        if (leave === "unsubscribes") await client.call("eth_unsubscribe", [id]);
        else await client.close();
      };
      const ended = () =>
        read.calls.filter(({ method, params }) =>
          method === "eth_unsubscribe" && params?.[0] === alice.id
        ).length;
      await end(alice);
      await eventually("one client left", async () => {
        return await readSeries(url, "proxy_broadcast_active_subscriptions") === 1 || undefined;
      });
      // The node has read all that came before this: an unsubscribe would be there by now.
      await bob.client.call("eth_subscribe", LOGS);
      assert.equal(ended(), 0);
      await end(bob);
      await read.until(() => !read.subscriptions.includes(JSON.stringify(HEADS)));
      assert.equal(ended(), 1);
      if (leave === "unsubscribes") await Promise.all([alice.client.close(), bob.client.close()]);
    },
  );
}

scene(
  `${SECTION}: each subscription has its own upstream id, and ends separately`,
  async ({ wsUrl, read }) => {
    await using client = await RpcSocket.open(wsUrl);
    const heads = (await client.call("eth_subscribe", HEADS)).result;
    const logs = (await client.call("eth_subscribe", LOGS)).result;
    assert.notEqual(heads, logs);
    await client.call("eth_unsubscribe", [heads]);
    await read.until(() => read.subscriptions.length === 1);
    assert.deepEqual(read.subscriptions, [JSON.stringify(LOGS)]);
    assert.deepEqual(read.calls.at(-1)?.params, [heads]);
  },
);

scene(
  "RPC proxy, What the service does: all clients share one upstream connection",
  async ({ wsUrl, read }) => {
    const clients = await Promise.all(
      Array.from({ length: 20 }, (_, index) => subscribed(wsUrl, index % 2 ? HEADS : LOGS)),
    );
    assert.equal(read.connections, 1);
    assert.equal(read.subscriptions.length, 2);
    await Promise.all(clients.map(({ client }) => client.close()));
  },
);

scene(
  "RPC proxy, Errors: a failed call is counted in proxy_upstream_errors_total",
  async ({ url, write }) => {
    const errors = () => readSeries(url, 'proxy_upstream_errors_total{target="write"}');
    assert.equal(await errors(), 0);
    await write.stop();
    const response = await post(url, call(1, "core_sendTransaction"));
    assert.equal((await response.json()).error.code, -32002);
    assert.equal(response.status, 502);
    assert.equal(await errors(), 1);
  },
);

scene(
  "RPC proxy, States: after a disconnect, attempts are counted until it is connected again",
  async ({ url, wsUrl, read }) => {
    const state = () => readSeries(url, "proxy_broadcast_upstream_connected");
    const attempts = () => readSeries(url, "proxy_broadcast_reconnect_attempts");
    assert.deepEqual([await state(), await attempts()], [1, 0]);
    const { client, id } = await subscribed(wsUrl, HEADS);
    await read.stop();
    await eventually("disconnected", async () => await state() === 0 || undefined);
    await eventually("attempts counted", async () => await attempts() >= 3 || undefined);
    const again = new EchoNode({ port: read.port });
    await again.until(() => again.subscriptions.length === 1);
    assert.equal(await state(), 1);
    again.notify(HEADS, "after");
    await client.waitFor(isNotice);
    assert.deepEqual(client.notifications(id), ["after"]);
    await client.close();
    await again.stop();
  },
);
