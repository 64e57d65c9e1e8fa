/** What a node tells its clients about theses and prices, checkpoint by checkpoint. */
import assert from "node:assert/strict";
import { actors, deposit, hashOf, rfqSubmit } from "./support/actors.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { withSteppedNode } from "./support/stepped_node.ts";

const { user, solver } = actors;

Deno.test("Node: a theses subscription sends what matches its filter", () =>
  withSteppedNode(async ({ node, client, stepped }) => {
    await using socket = await RpcSocket.open(node.readWsUrl);
    const [all, mine, wrongSolver, bySolver] = [
      await socket.subscribe("theses"),
      await socket.subscribe("theses", { user: user.address.toLowerCase() }),
      await socket.subscribe("theses", { user: user.address, solver: user.address }),
      await socket.subscribe("theses", { solver: solver.address }),
    ];
    const timestamp = stepped.now;
    const funds = { user: user.address, amount: 5_000_000n, externalTxHash: hashOf(1) };
    await client.sendTransaction(deposit({ timestamp, ...funds }));
    await client.sendTransaction(rfqSubmit({ timestamp }));
    await socket.waitFor(({ params }) => params?.subscription === bySolver);
    const counts = [all, mine, wrongSolver, bySolver].map((id) => socket.notifications(id!).length);
    assert.deepEqual(counts, [1, 1, 0, 1]);
  }));

Deno.test("Node: health and oracle status report whether prices are fresh", () =>
  withSteppedNode(async ({ node, oracle, stepped }) => {
    const health = async () => await (await fetch(`${node.url}/health`)).json();
    assert.deepEqual(await health(), { status: "healthy", blockNumber: 1, oracle: "fresh" });
    const lastSuccess = stepped.now;
    oracle.answer = () => new Response("away", { status: 503 });
    await stepped.run(2);
    assert.equal((await health()).oracle, "fresh");
    await stepped.run(1);
    assert.equal((await health()).oracle, "stale");
    await using socket = await RpcSocket.open(node.wsUrl);
    const status = Object((await socket.call("core_getOracleStatus")).result);
    assert.deepEqual([status.state, status.markets["ETH/USDT"].state, status.lastFailure.outcome], [
      "stale",
      "stale",
      "error",
    ]);
    assert.deepEqual([status.failuresInARow, status.lastSuccess], [3, lastSuccess]);
  }, { maxStaleMs: 200 }));
