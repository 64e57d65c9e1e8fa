/**
 * Calls that two JSON parsers read differently. The node's parser ignores the case of names and
 * uses the last of several members, like Go's.
 */
import assert from "node:assert/strict";
import type { Received } from "../proxy/echo_node.ts";
import { post, type SceneOptions, withProxy } from "../proxy/support.ts";
import { RpcSocket } from "../support/rpc_socket.ts";

/** A text as Go's `encoding/json` reads it. */
function goParse(text: string): { id: unknown; method: unknown; params: unknown } {
  const read: Record<string, unknown> = {};
  JSON.parse(text, function (name, value) {
    // The reviver visits the members of the outermost object last, in their order.
    read[name.toLowerCase()] = value;
    return value;
  });
  return { id: read.id, method: read.method, params: read.params };
}

/** A node of that kind, and the methods that it took calls for. */
function laxNode(): { options: SceneOptions; methods: unknown[] } {
  const methods: unknown[] = [];
  const answer = (text: string, { over }: Received) => {
    const { id, method } = goParse(text);
    methods.push(method);
    return Response.json({ jsonrpc: "2.0", id, result: `${method} over ${over}` });
  };
  return { options: { read: { answer }, write: { answer } }, methods };
}

const attacks: Record<string, string> = {
  "another case hides a write":
    '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","METHOD":"eth_sendRawTransaction"}',
  "another case hides an unsubscribe":
    '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","Method":"eth_unsubscribe","Params":["0x1"]}',
  "a second id is another caller's":
    '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","ID":"read 5"}',
  "a second method is a write":
    '{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","method":"eth_chainId"}',
};
Deno.test("Hostile: a call that JSON parsers interpret differently is refused, and reaches no node", async (t) => {
  const { options, methods } = laxNode();
  await withProxy(async ({ url, wsUrl }) => {
    await using client = await RpcSocket.open(wsUrl);
    for (const [name, attack] of Object.entries(attacks)) {
      await t.step(name, async () => {
        const refused = await post(url, attack);
        assert.deepEqual([refused.status, (await refused.json()).error.code], [400, -32600]);
        const [item] = await (await post(url, `[${attack}]`)).json();
        assert.equal(item.error.code, -32600);
        const count = client.messages.length;
        client.send(attack);
        const answer = await client.waitFor((message) => client.messages.indexOf(message) >= count);
        assert.equal(answer.error?.code, -32600);
        assert(!methods.some((method) => /send|unsubscribe/.test(String(method))), `${methods}`);
      });
    }
  }, options);
});

Deno.test("Hostile: unknown members of the envelope are not forwarded to a node", async () => {
  const { options, methods } = laxNode();
  await withProxy(async ({ url, read }) => {
    const padded = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","x":{"Method":"eth_sendRaw"}}';
    assert.equal((await (await post(url, padded)).json()).id, 1);
    assert.deepEqual(methods, ["eth_chainId"]);
    assert(!read.requests.some(({ text }) => text.includes("eth_sendRaw")));
  }, options);
});
