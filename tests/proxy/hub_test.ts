import assert from "node:assert/strict";
import { Hub } from "../../services/proxy/hub.ts";

const CAPACITY = 4;

Deno.test("Hub: a burst longer than the ring costs a client that keeps up nothing", () => {
  const toNode: string[] = [];
  const got: number[] = [];
  let lagged = 0;
  const hub = new Hub({
    capacity: CAPACITY,
    random: () => 0.5,
    subscribeTimeoutMs: 1_000,
    slowClients: "lag",
    upstream: { send: (text) => toNode.push(text) > 0, drop: () => assert.fail("Not dropped") },
    events: {
      received: () => {},
      sent: () => {},
      subscribed: () => {},
      lagged: (count) => lagged += count,
    },
  });
  const client = hub.connect({
    room: Infinity,
    send: (messages) => {
      for (const { text } of messages) got.push(JSON.parse(text).params.result);
    },
    close: () => assert.fail("Not closed"),
  });
  hub.upstreamOpened(0);
  hub.subscribe(client, { namespace: "eth", paramsText: '["a"]', key: "a" }, 0, () => {});
  hub.receive(
    JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(toNode[0] ?? "").id, result: "0x1" }),
  );

  const burst = Array.from({ length: 3 * CAPACITY + 1 }, (_, number) => number);
  for (const result of burst) {
    const params = { subscription: "0x1", result };
    hub.receive(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
  }
  hub.flush();
  assert.deepEqual(got, burst);
  assert.equal(lagged, 0);
});
