/** The development methods over JSON-RPC: availability, parameters and effects. */
import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { actors } from "./support/actors.ts";
import { RpcSocket } from "../support/rpc_socket.ts";
import { withSteppedNode } from "./support/stepped_node.ts";
import { withFolder } from "../support/files.ts";

const user = actors.user.address;
const DEV_METHODS = ["core_faucet", "core_snapshot", "core_revert", "core_advance"];
const PARAMS = [[user, "5"], [], [1], [{ ms: 60_000 }]];
const relayers = [DEV_ACCOUNTS.relayer.address];

async function discovered(socket: RpcSocket): Promise<string[]> {
  const { methods }: { methods: { name: string }[] } = Object(
    (await socket.call("rpc.discover")).result,
  );
  return methods.map(({ name }) => name).filter((name) => DEV_METHODS.includes(name));
}

Deno.test("Node: development methods are off without --dev", () =>
  withSteppedNode(async ({ node, client, clock }) => {
    await using socket = await RpcSocket.open(node.wsUrl);
    const before = await client.getHead();
    for (const [index, method] of DEV_METHODS.entries()) {
      const { error } = await socket.call(method, PARAMS[index]);
      assert.equal(error?.code, -32601);
    }
    assert.deepEqual(await discovered(socket), []);
    assert.deepEqual(await client.getHead(), before);
    assert.equal((await client.getAccount(user)).balance, 0n);
    assert.equal(clock.now(), before.timestampMs);
  }, { relayers }));

Deno.test("Node --dev: faucet, snapshot, advance and revert work, and notify subscribers", () =>
  withSteppedNode(async ({ node, client, stepped }) => {
    await using socket = await RpcSocket.open(node.wsUrl);
    const faucet = await socket.call("core_faucet", [user, "5000000"]);
    assert.equal(Object(faucet.result).status, "committed");
    const { result: id } = await socket.call("core_snapshot");
    assert.equal(id, 1);
    const head = await client.getHead();
    const heads = await socket.subscribe("newHeads");
    const jump = await socket.call("core_advance", [{
      ms: 60_000,
      prices: { "ETH/USDT": "3100000000", "BTC/USDT": "61000000000" },
    }]);
    const now = stepped.now + 60_000;
    assert.deepEqual(jump.result, { now, blockNumber: head.number + 1 });
    assert.deepEqual(await client.getHead(), { number: head.number + 1, timestampMs: now });
    await socket.call("core_faucet", [user, "1"]);
    assert.equal((await client.getAccount(user)).balance, 5_000_001n);
    const revert = await socket.call("core_revert", [id]);
    assert.deepEqual(revert.result, { now: stepped.now, blockNumber: head.number });
    assert.equal((await client.getAccount(user)).balance, 5_000_000n);
    await stepped.run(1);
    await socket.waitFor(() => socket.notifications(heads).length === 3);
    const seen = socket.notifications(heads).map((
      { number, timestampMs },
    ) => [Number(number), timestampMs]);
    assert.deepEqual(seen, [
      [head.number + 1, now],
      [head.number, head.timestampMs],
      [head.number + 1, head.timestampMs + 100],
    ]);
  }, { dev: true, relayers }));

Deno.test("Node --dev: after advancing, checkpoints continue every 100 ms", () =>
  withSteppedNode(async ({ node, client, clock, stepped }) => {
    await using socket = await RpcSocket.open(node.wsUrl);
    await socket.call("core_advance", [{ ms: 12_345 }]);
    const { number, timestampMs } = await client.getHead();
    assert.equal(timestampMs, stepped.now + 12_300);
    const heads = await socket.subscribe("newHeads");
    // The clock of the chain is 45 ms past its head.
    clock.advance(54);
    assert.equal((await client.getHead()).number, number);
    clock.advance(1);
    await socket.waitFor(() => socket.notifications(heads).length === 1);
    assert.deepEqual(await client.getHead(), {
      number: number + 1,
      timestampMs: timestampMs + 100,
    });
  }, { dev: true }));

Deno.test("Node --dev: on disk only the faucet works, and its deposit is durable", () =>
  withFolder(async (dataDir) => {
    const clock = new FakeClock();
    const options = { dev: true, relayers, dataDir };
    await withSteppedNode(
      async ({ node }) => {
        await using socket = await RpcSocket.open(node.wsUrl);
        await socket.call("core_faucet", [user, "5000000"]);
        for (const [index, method] of DEV_METHODS.entries()) {
          if (index === 0) continue;
          const { error } = await socket.call(method, PARAMS[index]);
          assert.equal(error?.code, -32601);
        }
        assert.deepEqual(await discovered(socket), ["core_faucet"]);
      },
      options,
      clock,
    );
    clock.advance(1_000);
    await withSteppedNode(
      async ({ client }) => {
        assert.equal((await client.getAccount(user)).balance, 5_000_000n);
      },
      { ...options, dev: false },
      clock,
    );
  }));
