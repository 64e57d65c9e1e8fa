import assert from "node:assert/strict";
import { RpcSocket } from "../../support/rpc_socket.ts";
import { withNode } from "../support/running_node.ts";

Deno.test("Node: eth_subscribe answers with the id before the first notification", () =>
  withNode(async ({ node }) => {
    const socket = await RpcSocket.open(node.wsUrl);
    const ids = [
      await socket.subscribe("newHeads"),
      await socket.subscribe("newHeads"),
      await socket.subscribe("prices"),
    ];
    assert.equal(new Set(ids).size, 3);
    for (const id of ids) {
      assert.match(id, /^0x[1-9a-f][0-9a-f]{0,31}$/);
      await socket.waitFor(({ params }) => params?.subscription === id);
      const answer = socket.messages.findIndex(({ result }) => result === id);
      const first = socket.messages.findIndex(({ params }) => params?.subscription === id);
      assert.ok(answer < first);
    }
    assert.equal((await socket.call("eth_subscribe", ["logs"])).error?.code, -32602);
    const heads = socket.notifications(ids[0]!);
    assert.match(String(heads[0]?.number), /^0x[0-9a-f]+$/);
    await socket.close();
  }));

Deno.test("Node: eth_unsubscribe ends one's own subscription only", () =>
  withNode(async ({ node }) => {
    const [one, other] = [await RpcSocket.open(node.wsUrl), await RpcSocket.open(node.wsUrl)];
    const id = await one.subscribe("newHeads");
    assert.equal((await other.call("eth_unsubscribe", [id])).result, false);
    assert.equal((await one.call("eth_unsubscribe", [id])).result, true);
    assert.equal((await one.call("eth_unsubscribe", [id])).result, false);
    const seen = one.notifications(id).length;
    const heads = await other.subscribe("newHeads");
    await other.waitFor(({ params }) => params?.subscription === heads);
    assert.equal(one.notifications(id).length, seen);
    await one.close();
    await other.close();
  }));
