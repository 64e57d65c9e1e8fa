import assert from "node:assert/strict";
import { blockOf } from "../../../services/proxy/calls/placement.ts";

Deno.test("blockOf: the block in the parameter where each method has it", () => {
  const positions: Record<string, number> = {
    eth_getBlockByNumber: 0,
    eth_getBlockReceipts: 0,
    eth_getBlockTransactionCountByNumber: 0,
    eth_getTransactionByBlockNumberAndIndex: 0,
    eth_getUncleCountByBlockNumber: 0,
    eth_getLogs: 0,
    eth_newFilter: 0,
    eth_call: 1,
    eth_estimateGas: 1,
    eth_feeHistory: 1,
    eth_getBalance: 1,
    eth_getCode: 1,
    eth_getTransactionCount: 1,
    eth_getStorageAt: 2,
    eth_getProof: 2,
  };
  for (const [method, position] of Object.entries(positions)) {
    const found = [0, 1, 2, 3].map((at) => {
      const params: unknown[] = [];
      params[at] = "0x1f";
      return blockOf({ method, params });
    });
    assert.deepEqual(found, [0, 1, 2, 3].map((at) => at === position ? 31 : undefined), method);
  }
  assert.equal(blockOf({ method: "eth_chainId", params: ["0x1f", "0x1f", "0x1f"] }), undefined);
});

Deno.test("blockOf: of a filter or a block object the highest number, and nothing of other values", () => {
  const rows: [named: unknown, block: number | undefined][] = [
    ["0x0", 0],
    ["0xFfFf", 65_535],
    [`0x${"1".repeat(13)}`, 0x1111111111111],
    [`0x${"1".repeat(14)}`, undefined],
    [{ fromBlock: "0x5", toBlock: "0x7" }, 7],
    [{ fromBlock: "0x7", toBlock: "latest" }, 7],
    [{ fromBlock: "earliest", toBlock: "0x3" }, 3],
    [{ blockNumber: "0x9", requireCanonical: true }, 9],
    [{ blockHash: "0x9" }, undefined],
    ...[null, "latest", "0x", "0xg", " 0x1", "0x1 ", 7, undefined, {}, []]
      .map((named): [unknown, undefined] => [named, undefined]),
  ];
  for (const [named, block] of rows) {
    const call = { method: "eth_getLogs", params: [named] };
    assert.equal(blockOf(call), block, JSON.stringify(named));
  }
  for (const params of [undefined, { 0: "0x1" }]) {
    assert.equal(blockOf({ method: "eth_getLogs", params }), undefined);
  }
});
