/** Bets over HTTP and WebSocket, checkpoint by checkpoint. */
import assert from "node:assert/strict";
import { RpcError } from "../../lib/protocol/jsonrpc.ts";
import { missingSpansOf } from "../../lib/net/core_client.ts";
import { actors, backfill, deposit, hashOf, rfqSubmit } from "./support/actors.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { type SteppedParts, withSteppedNode } from "./support/stepped_node.ts";

const { user, solver } = actors;

/** Deposits, opens a thesis of a second from now on, and gives its id. */
async function openThesis({ client, stepped }: SteppedParts): Promise<number> {
  const timestamp = stepped.now;
  const funds = { user: user.address, amount: 5_000_000n, externalTxHash: hashOf(1) };
  await client.sendTransaction(deposit({ timestamp, ...funds }));
  const receipt = await client.sendTransaction(rfqSubmit({ timestamp }));
  assert.equal(receipt.status, "committed", receipt.error?.message);
  return receipt.thesisId!;
}

Deno.test("Node: one bet over HTTP, from deposit to payout", () =>
  withSteppedNode(async (parts) => {
    const { node, client, stepped } = parts;
    const socket = await RpcSocket.open(node.wsUrl);
    const theses = await socket.subscribe("theses", { user: user.address });
    const id = await openThesis(parts);
    const { locked } = await client.getAccount(user.address);
    assert.equal(locked, 1_000_000n);
    await stepped.run(9);
    assert.equal((await client.getThesis(id))?.status, "open");
    await stepped.run(1);
    await socket.waitFor(({ params }) => params?.result.status === "won");
    assert.deepEqual(socket.notifications(theses).map(({ status }) => status), ["open", "won"]);
    assert.equal((await client.getThesis(id))?.status, "won");
    assert.equal((await client.getAccount(user.address)).balance, 5_070_000n);
    assert.equal((await client.settleThesis(id)).status, "won");
    await socket.close();
  }));

Deno.test("Node: a theses subscription sends what matches its filter", () =>
  withSteppedNode(async (parts) => {
    const socket = await RpcSocket.open(parts.node.readWsUrl);
    const [all, mine, wrongSolver, bySolver] = [
      await socket.subscribe("theses"),
      await socket.subscribe("theses", { user: user.address.toLowerCase() }),
      await socket.subscribe("theses", { user: user.address, solver: user.address }),
      await socket.subscribe("theses", { solver: solver.address }),
    ];
    await openThesis(parts);
    await socket.waitFor(({ params }) => params?.subscription === bySolver);
    const counts = [all, mine, wrongSolver, bySolver].map((id) => socket.notifications(id!).length);
    assert.deepEqual(counts, [1, 1, 0, 1]);
    await socket.close();
  }));

Deno.test("Node: a settlement that lacks prices says which, and a backfill through JSON-RPC helps", () =>
  withSteppedNode(async (parts) => {
    const { client, oracle, stepped } = parts;
    const id = await openThesis(parts);
    const { startTime, endTime } = (await client.getThesis(id))!;
    await assert.rejects(client.settleThesis(id), (thrown) => {
      assert.ok(thrown instanceof RpcError);
      assert.deepEqual([thrown.rpcCode, Object(thrown.data).code], [-32010, "NotEnded"]);
      return true;
    });
    oracle.answer = () => new Response("away", { status: 503 });
    await stepped.run(10);
    assert.equal((await client.getThesis(id))?.status, "needs_backfill");
    let missing: unknown;
    await assert.rejects(client.settleThesis(id), (thrown) => {
      assert.equal(thrown instanceof RpcError && thrown.rpcCode, -32010);
      missing = missingSpansOf(thrown);
      return true;
    });
    // One price lives for one more checkpoint.
    const from = startTime + 200;
    assert.deepEqual(missing, [{ from, to: endTime }]);
    const prices = Array<bigint>(8).fill(3_000_000_000n);
    const tx = backfill({ timestamp: stepped.now, startTime: from, prices });
    assert.equal((await client.sendTransaction(tx)).filledSlots, 8);
    assert.equal((await client.getThesis(id))?.status, "won");
  }, { maxStaleMs: 100 }));

Deno.test("Node: health and oracle status say whether prices are fresh", () =>
  withSteppedNode(async ({ node, oracle, stepped }) => {
    const health = async () => await (await fetch(`${node.url}/health`)).json();
    assert.deepEqual(await health(), { status: "healthy", blockNumber: 1, oracle: "fresh" });
    const lastSuccess = stepped.now;
    oracle.answer = () => new Response("away", { status: 503 });
    await stepped.run(2);
    assert.equal((await health()).oracle, "fresh");
    await stepped.run(1);
    assert.equal((await health()).oracle, "stale");
    const socket = await RpcSocket.open(node.wsUrl);
    const status = Object((await socket.call("core_getOracleStatus")).result);
    assert.deepEqual([status.state, status.markets["ETH/USDT"].state, status.lastFailure.outcome], [
      "stale",
      "stale",
      "error",
    ]);
    assert.deepEqual([status.failuresInARow, status.lastSuccess], [3, lastSuccess]);
    await socket.close();
  }, { maxStaleMs: 200 }));
