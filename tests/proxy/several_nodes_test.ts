/** A proxy in front of three read nodes of one chain. */
import assert from "node:assert/strict";
import type { ProxyOptions } from "../../services/proxy/mod.ts";
import { eventually } from "../support/eventually.ts";
import { EchoNode } from "./echo_node.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { call, post, startTestProxy } from "./support.ts";
import { readSeries } from "../support/http_answers.ts";

/** The block of a number, the same on every node. */
function block(number: number) {
  const hex = `0x${number.toString(16)}`;
  const timestamp = `0x${Math.floor(Date.now() / 1000).toString(16)}`;
  return { number: hex, hash: `0xb10c${hex.slice(2)}`, timestamp };
}

interface Call {
  id: number;
  method: string;
  params: [string];
}

/** A read node of one chain, over real sockets; it knows how far it is. */
class ChainNode {
  readonly node: EchoNode;
  head: number;

  constructor(head: number) {
    this.head = head;
    this.node = new EchoNode({
      answer: (text) => {
        const call: Call = JSON.parse(text);
        return Response.json({ jsonrpc: "2.0", id: call.id, result: this.#result(call) });
      },
    });
  }

  announce(): void {
    this.head += 1;
    this.node.notify(["newHeads"], block(this.head));
  }

  #result({ method, params }: Call): unknown {
    return method === "eth_getBlockByNumber"
      ? block(this.head)
      : { method, params, port: this.node.port };
  }
}

interface Scene {
  url: string;
  wsUrl: string;
  nodes: ChainNode[];
  write: EchoNode;
  metric: (name: string) => Promise<number>;
}

async function withNodes(
  play: (scene: Scene) => Promise<void>,
  overrides: Partial<ProxyOptions> = {},
): Promise<void> {
  const nodes = [1, 2, 3].map(() => new ChainNode(100));
  await using stack = new AsyncDisposableStack();
  for (const { node } of nodes) stack.use(node);
  await using write = new EchoNode();
  const readNodeUrl = nodes.map(({ node }) => node.url).join(", ");
  await using proxy = await startTestProxy({ readNodeUrl, writeNodeUrl: write.url, ...overrides });
  const metric = (name: string) => readSeries(proxy.url, name);
  await eventually("every node was probed", async () => {
    const heads = nodes.map(({ node }) =>
      metric(`proxy_read_node_head{node="127.0.0.1:${node.port}"}`)
    );
    return (await Promise.all(heads)).every((head) => head === 100);
  });
  await eventually("the first node has the socket", () => nodes[0]!.node.connections);
  await play({ url: proxy.url, wsUrl: proxy.wsUrl, nodes, write, metric });
}

async function ask(url: string, message: unknown) {
  const answer = await post(url, message);
  return { status: answer.status, ...await answer.json() };
}

Deno.test("Several read nodes: if the hub's node is gone, clients keep their ids and see each head once", () =>
  withNodes(async ({ url, wsUrl, nodes }) => {
    await using client = await RpcSocket.open(wsUrl);
    const id = (await client.call("eth_subscribe", ["newHeads"])).result;
    const numbers = () =>
      client.notifications(id).map((head) => Number((head as { number: string }).number));
    const expected: number[] = [];
    const living = [...nodes];
    while (living.length > 0) {
      const leader = await eventually(
        "one node is followed",
        () => living.find(({ node }) => node.subscriptions.length > 0),
      );
      for (const node of living) node.announce();
      expected.push(leader.head);
      await eventually("the head", () => numbers().at(-1) === leader.head);
      living.splice(living.indexOf(leader), 1);
      if (living.length === 0) break;
      await leader.node.stop();
      assert.equal(await (await fetch(`${url}/ready`)).text(), "OK");
      assert.equal((await ask(url, call(1, "eth_chainId"))).result.method, "eth_chainId");
    }
    assert.deepEqual(numbers(), expected);
  }));

Deno.test("Several read nodes: /ready is OK while one serves, and 503 once none does", () =>
  withNodes(async ({ url, nodes }) => {
    const statusOfReady = async () => {
      const answer = await fetch(`${url}/ready`);
      await answer.body?.cancel();
      return answer.status;
    };
    const [last, ...others] = nodes;
    for (const { node } of others) await node.stop();
    assert.equal(await statusOfReady(), 200);
    await last?.node.stop();
    await eventually("no node serves", async () => await statusOfReady() === 503);
  }));

Deno.test("Several read nodes: a node is removed for a while if it closes with 1013 or lags over --read-node-max-lag", () =>
  withNodes(async ({ url, wsUrl, nodes: [first, ...others], metric }) => {
    assert(first);
    const of = ({ node }: ChainNode, name: string) =>
      metric(`proxy_read_node_${name}{node="127.0.0.1:${node.port}"}`);
    await using client = await RpcSocket.open(wsUrl);
    const id = (await client.call("eth_subscribe", ["newHeads"])).result;
    await first.node.until(() => first.node.subscriptions.length === 1);
    first.node.dropSockets(1013);
    const next = await eventually(
      "another node is followed",
      () => others.find(({ node }) => node.subscriptions.length > 0),
    );
    next.announce();
    await eventually("its head", () => client.notifications(id).length === 1);
    assert.equal((await ask(url, call(1, "eth_chainId"))).result.port, next.node.port);
    assert.equal(await (await fetch(`${url}/ready`)).text(), "OK");
    assert.deepEqual([await of(first, "up"), await of(next, "leads")], [0, 1]);
    const lagging = others.find((node) => node !== next) ?? assert.fail();
    lagging.head -= 2;
    await eventually("it is in again", async () => await of(first, "up") === 1);
    await eventually("the third is out", async () => await of(lagging, "up") === 0);
    assert.equal(next.node.subscriptions.length, 1, "the other one still leads");
  }, { readNodeMaxLag: 1 }));

Deno.test("Several read nodes: a node that claims 1,000 blocks too many is removed, and its heads are not shown", () =>
  withNodes(async ({ wsUrl, nodes: [liar, ...honest] }) => {
    assert(liar);
    await using client = await RpcSocket.open(wsUrl);
    const id = (await client.call("eth_subscribe", ["newHeads"])).result;
    const numbers = () => client.notifications(id).map(({ number }) => Number(number));
    liar.announce();
    await eventually("the first head", () => numbers().length === 1);
    liar.head += 1_000;
    liar.announce();
    const leader = await eventually(
      "another node is followed",
      () => honest.find(({ node }) => node.subscriptions.length > 0),
    );
    leader.head = 102;
    leader.announce();
    await eventually("its head", () => numbers().length === 2);
    assert.deepEqual(numbers(), [101, 103]);
  }));

Deno.test("Several read nodes: while all refuse WebSockets, reads of numbered blocks are answered over HTTP, and subscriptions wait", () =>
  withNodes(async ({ url, wsUrl, nodes }) => {
    await using client = await RpcSocket.open(wsUrl);
    const id = (await client.call("eth_subscribe", ["newHeads"])).result;
    await nodes[0]!.node.until(() => nodes[0]!.node.subscriptions.length === 1);
    const attempts = nodes.map(({ node }) => node.paths.length + 3);
    for (const { node } of nodes) {
      node.isRefusingSockets = true;
      node.dropSockets();
    }
    await eventually("each node has refused three times", async () => {
      const answer = await ask(url, call(1, "eth_getBlockByNumber", ["0x64", false]));
      assert.equal(answer.error, undefined, answer.error?.message);
      return nodes.every(({ node }, index) => node.paths.length >= attempts[index]!);
    });
    for (const { node } of nodes) node.isRefusingSockets = false;
    const leader = await eventually(
      "one node is followed",
      () => nodes.find(({ node }) => node.subscriptions.length > 0),
    );
    leader.announce();
    await eventually("its head", () => client.notifications(id).length === 1);
  }));
