/** A proxy without listeners, under a clock that a test moves. */
import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { withDefaults } from "../../lib/cli/options.ts";
import { options, type ProxyOptions } from "../../services/proxy/options.ts";
import { ProxyMetrics } from "../../services/proxy/shared/metrics.ts";
import { ROUND_MS } from "../../services/proxy/node/probe_rounds.ts";
import { ProxyCore } from "../../services/proxy/proxy_core.ts";
import { eventually, nextTurn } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { address } from "./hub/hub_scene.ts";
import { EchoNode, type EchoNodeOptions } from "./echo_node.ts";
import type { RpcMessage } from "../support/rpc_socket.ts";
import { call } from "./support.ts";
import { FakeClientSocket } from "./clients/fake_client_socket.ts";

/** Longer than any wait before a reconnect. */
const RECONNECT_MS = 100;

const HOUR_MS = 3_600_000;

class Client extends FakeClientSocket {
  ask(message: unknown): void {
    this.events.onText(JSON.stringify(message));
  }

  /** The first frame that matches, once it has arrived. */
  frame(wanted: (frame: RpcMessage) => boolean): Promise<RpcMessage> {
    return eventually("a frame", () => this.frames.find(wanted));
  }
}

interface Scene {
  clock: FakeClock;
  node: EchoNode;
  proxy: ProxyCore;
  client: () => Client;
  metrics: ProxyMetrics;
}

async function withProxy(
  play: (scene: Scene) => Promise<void>,
  { answer, ...overrides }: Partial<ProxyOptions> & Pick<EchoNodeOptions, "answer"> = {},
): Promise<void> {
  const node = new EchoNode({ answer });
  const clock = new FakeClock();
  const metrics = new ProxyMetrics(new Registry());
  const proxy = new ProxyCore(
    withDefaults(options, {
      readNodeUrl: node.url,
      writeNodeUrl: node.url,
      reconnectInitialMs: RECONNECT_MS,
      reconnectMaxMs: RECONNECT_MS,
      ...overrides,
    }),
    metrics,
    clock.monotonic,
    clock,
  );
  let clients = 0;
  const client = () => {
    const client = new Client();
    proxy.clients.serve(client, address(`192.0.2.${clients += 1}`));
    return client;
  };
  proxy.start();
  try {
    await eventually("the read node is connected", () => proxy.nodes.isConnected);
    await play({ clock, node, proxy, client, metrics });
  } finally {
    await proxy.stop();
    await node.stop();
    assert.equal(clock.pending, 0, "A timer was left behind");
  }
}

/** Answers every call with a block. */
function blockAnswer(text: string, number: number): Response {
  const result = { number: `0x${number.toString(16)}`, timestamp: "0x1" };
  return Response.json({ jsonrpc: "2.0", id: JSON.parse(text).id, result });
}

Deno.test("ProxyCore: reconnects to a read node whose chain grows without announced heads, also after the clock was set back", () => {
  const SILENCE_MS = 2 * ROUND_MS;
  let head = 1;
  const answer = (text: string) => blockAnswer(text, head);
  return withProxy(async ({ clock, node, proxy, client }) => {
    const subscriber = client();
    subscriber.ask(call(1, "eth_subscribe", ["newHeads"]));
    await node.until(() => node.subscriptions.length === 1);
    await subscriber.frame(({ id }) => id === 1);
    const [state = assert.fail()] = proxy.nodes.readNodes.all;
    /** Rounds pass, in which the head is read or not. @returns How often it was read. */
    const pass = async (rounds: number, isRead: boolean) => {
      const before = node.requests.length;
      for (let round = 0; round < rounds; round += 1) {
        const { head } = state;
        clock.advance(ROUND_MS);
        if (isRead) await eventually("an answer", () => state.head !== head);
        await nextTurn();
      }
      return node.requests.length - before;
    };
    assert.equal(await pass(1, false), 0);
    node.notify(["newHeads"], { number: "0x1" });
    await subscriber.frame(({ method }) => method === "eth_subscription");
    clock.setBy(-HOUR_MS);
    assert.equal(await pass(1, false), 0, "it has announced one, so nobody asks");
    head = 2;
    assert.equal(await pass(1, true), 1);
    clock.advance(ROUND_MS);
    await eventually("it is dropped", () => !proxy.nodes.isConnected);
    await eventually("its end", () => node.connections === 0);
    head = 100; // the next one is further on, and rests there
    clock.advance(RECONNECT_MS);
    await eventually("the next one", () => node.subscriptions.length === 1);
    await eventually("it is connected", () => proxy.nodes.isConnected);
    assert.equal(await pass(2, false), 0, "it has not been silent for long");
    assert.equal(await pass(2, true), 2);
    assert.equal(proxy.nodes.isConnected, true);
  }, { answer, headSilenceMs: SILENCE_MS });
});

Deno.test("ProxyCore: waits for --reconnect-initial-ms before it reconnects to the read node, and later never longer than --reconnect-max-ms", () =>
  withProxy(async ({ clock, node, proxy, metrics }) => {
    const attempts = async () => {
      const { values: [sample] } = await metrics.sockets.reconnectAttempts.get();
      return sample?.value ?? 0;
    };
    await node.stop();
    await eventually("its end", () => !proxy.nodes.isConnected);
    clock.advance(1);
    assert.equal(await attempts(), 1);
    let waitedMs = 0;
    await eventually("more attempts", async () => {
      clock.advance(1);
      waitedMs += 1;
      return await attempts() === 13;
    });
    assert(waitedMs < 1_000, `${waitedMs} ms: as if waits grew without a limit`);
  }, { reconnectInitialMs: 1, reconnectMaxMs: 2 }));

Deno.test("ProxyCore: a read after a notification does not share the answer to a read before it", () => {
  const gates: PromiseWithResolvers<void>[] = [];
  const answer = async (text: string) => {
    const { id, method } = JSON.parse(text);
    if (method !== "core_getAccount") return blockAnswer(text, 1);
    const gate = Promise.withResolvers<void>();
    const state = gates.push(gate);
    await gate.promise;
    return Response.json({ jsonrpc: "2.0", id, result: state });
  };
  return withProxy(async ({ node, client }) => {
    const [early, late] = [client(), client()];
    early.ask(call(1, "eth_subscribe", ["newHeads"]));
    await early.frame(({ id }) => id === 1);
    early.ask(call(2, "core_getAccount", ["0x1"]));
    late.ask(call(2, "core_getAccount", ["0x1"]));
    await node.until(() => gates.length === 1);
    node.notify(["newHeads"], "a change");
    await early.frame(({ method }) => method === "eth_subscription");
    early.ask(call(3, "core_getAccount", ["0x1"]));
    await eventually("a second read", () => gates.length === 2);
    for (const gate of gates) gate.resolve();
    const results = [
      await early.frame(({ id }) => id === 2),
      await late.frame(({ id }) => id === 2),
      await early.frame(({ id }) => id === 3),
    ].map(({ result }) => result);
    assert.deepEqual(results, [1, 1, 2]);
  }, { answer });
});

Deno.test("ProxyCore: without the read node, a subscribe fails with -32002 after 10 s", () =>
  withProxy(async ({ clock, node, proxy, client }) => {
    await node.stop();
    await eventually("its end", () => !proxy.nodes.isConnected);
    const subscriber = client();
    subscriber.ask(call(1, "eth_subscribe", ["newHeads"]));
    clock.setBy(-HOUR_MS); // the computer's time plays no part
    clock.advance(9_999);
    assert.deepEqual(subscriber.frames, []);
    clock.advance(1_000);
    assert.equal((await subscriber.frame(({ id }) => id === 1)).error?.code, -32002);
  }));

Deno.test("ProxyCore: on a stop, reads on the socket are answered", () => {
  const never = new Promise<Response>(() => {});
  const answer = (text: string) => {
    const { id, method } = JSON.parse(text);
    return method === "eth_call" ? never : Response.json({ jsonrpc: "2.0", id, result: 1 });
  };
  return withProxy(async ({ node, proxy }) => {
    const read = (method: string) =>
      proxy.router.answer(JSON.stringify(call(1, method)), address());
    await eventually("a read goes over the socket", async () => {
      await read("net_version");
      return node.requests.at(-1)?.over === "ws";
    });
    const reply = read("eth_call");
    const sent = () => node.requests.at(-1)?.text.includes("eth_call") ?? false;
    await node.until(sent);
    assert.equal(node.requests.at(-1)?.over, "ws");
    await proxy.stop();
    assert.equal((await reply).status, 502);
  }, { answer });
});
