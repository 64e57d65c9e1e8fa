/**
 * Calls that two JSON parsers read differently. The node is one whose parser ignores the case of names
 * and lets the last of several count, as that of Go does.
 */
import assert from "node:assert/strict";
import { ChainNode } from "../proxy/chain_nodes.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { options, startProxy } from "../../services/proxy/mod.ts";
import type { Received } from "../proxy/echo_node.ts";
import { post, type SceneOptions, withProxy } from "../proxy/support.ts";
import { eventually } from "../support/eventually.ts";
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
for (const [name, attack] of Object.entries(attacks)) {
  Deno.test(`Hostile: a call in which ${name} is refused, and reaches no node`, async () => {
    const { options, methods } = laxNode();
    await withProxy(async ({ url, wsUrl }) => {
      const refused = await post(url, attack);
      assert.deepEqual([refused.status, (await refused.json()).error.code], [400, -32600]);
      const [item] = await (await post(url, `[${attack}]`)).json();
      assert.equal(item.error.code, -32600);
      const client = await RpcSocket.open(wsUrl);
      client.send(attack);
      const answer = await client.waitFor(({ id }) => id === 1);
      assert.equal(answer.error?.code, -32600);
      await client.close();
      assert(!methods.some((method) => /send|unsubscribe/.test(String(method))), `${methods}`);
    }, options);
  });
}

Deno.test("Hostile: members that the envelope does not have reach no node", async () => {
  const { options, methods } = laxNode();
  await withProxy(async ({ url, read }) => {
    const padded = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","x":{"Method":"eth_sendRaw"}}';
    assert.equal((await (await post(url, padded)).json()).id, 1);
    assert.deepEqual(methods, ["eth_chainId"]);
    assert(!read.requests.some(({ text }) => text.includes("eth_sendRaw")));
  }, options);
});

Deno.test("Hostile: a read node that claims 1,000 blocks too many is excluded, and its heads do not reach clients", async () => {
  const nodes = [1, 2, 3].map(() => new ChainNode(100));
  const [liar = assert.fail(), ...honest] = nodes;
  const proxy = await startProxy(withDefaults(options, {
    port: 0,
    readNodeUrl: nodes.map(({ node }) => node.url).join(),
    writeNodeUrl: liar.node.url,
    reconnectInitialMs: 5,
    reconnectMaxMs: 20,
  }));
  try {
    const client = await RpcSocket.open(proxy.wsUrl);
    const { result } = await client.call("eth_subscribe", ["newHeads"]);
    const numbers = () =>
      client.notifications(result).map((head) => Number((head as { number: string }).number));
    await eventually("heads are known", async () => {
      const metrics = await (await fetch(`${proxy.url}/metrics`)).text();
      return [...metrics.matchAll(/proxy_read_node_head\{.*\} 100\n/g)].length === 3 || undefined;
    });
    for (const node of nodes) node.announce();
    await eventually("the first head", () => numbers().length === 1 || undefined);
    liar.head += 1_000;
    liar.announce();
    for (const node of honest) node.announce();
    const leader = await eventually("another node is followed", () => {
      for (const node of honest) if (node.node.subscriptions.length > 0) return node;
    });
    for (const node of honest) node.announce();
    await eventually("its head", () => numbers().at(-1) === leader.head || undefined);
    assert.deepEqual(numbers(), [101, leader.head]);
    await client.close();
  } finally {
    await proxy.stop();
    for (const { node } of nodes) await node.stop();
  }
});
