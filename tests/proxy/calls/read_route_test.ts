import assert from "node:assert/strict";
import {
  answerLost,
  nodeTimeout,
  type ProxyError,
} from "../../../services/proxy/shared/failures.ts";
import { type Call, parseMessage } from "../../../services/proxy/calls/message.ts";
import {
  answerForClient,
  failureForClient,
  requireRoute,
} from "../../../services/proxy/calls/read_route.ts";
import { call, readNodesOf } from "../support.ts";

function callOf(method: string, params: unknown = []) {
  const message = parseMessage(JSON.stringify({ ...call(1, method), params }), 1);
  assert("method" in message);
  return message;
}

/** The blocks of which a read's route asks who has them. */
function blocksOf(method: string, params: Call["params"]): readonly number[] {
  return requireRoute({ ...callOf(method), params }, readNodesOf("a")).blocks ?? [];
}

const notFound = { status: 200, rpcCode: -32000, message: "filter not found" };

Deno.test("requireRoute: the id of a new filter gets two digits for its node; other answers are unchanged", () => {
  const nodes = readNodesOf(Array.from({ length: 256 }, (_, index) => `node${index}`).join(" "));
  const rows: [method: string, node: number, result: unknown, shown: unknown][] = [
    ["eth_newFilter", 0, "0x1", "0x100"],
    ["eth_newBlockFilter", 1, "0xabC", "0xabC01"],
    ["eth_newPendingTransactionFilter", 255, "0x", "0xff"],
    ["evm_newFilter", 16, "0x1", "0x110"],
    ["eth_newFilters", 1, "0x1", "0x1"],
    ["eth_newFilter", 1, "filter 0x1", "filter 0x1"],
    ["eth_newFilter", 1, "0x1 ", "0x1 "],
    ["eth_newFilter", 1, 7, 7],
    ["eth_getFilterChanges", 1, "0x1", "0x1"],
    ["x_eth_newFilter", 1, "0x1", "0x1"],
  ];
  for (const [method, node, result, shown] of rows) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, result });
    const wanted = JSON.stringify({ jsonrpc: "2.0", id: 1, result: shown });
    assert.equal(answerForClient(callOf(method), nodes, nodes.all[node], body), wanted, method);
  }
  const failure = '{"jsonrpc":"2.0","id":1,"error":{}}';
  assert.equal(answerForClient(callOf("eth_newFilter"), nodes, nodes.all[1], failure), failure);
});

Deno.test("requireRoute: a filter is read from its node, under the node's own id", () => {
  const nodes = readNodesOf("a b");
  const cases = [
    ["eth_getFilterChanges", ["0x100"], 0, ["0x1"]],
    ["eth_getFilterLogs", ["0xAb01", 7], 1, ["0xAb", 7]],
    ["evm_uninstallFilter", ["0x01"], 1, ["0x"]],
  ] as const;
  for (const [method, params, node, sent] of cases) {
    const route = requireRoute(callOf(method, params), nodes);
    assert.equal(route.node.index, node, method);
    assert.deepEqual(route.textAfterId, `,"method":"${method}","params":${JSON.stringify(sent)}}`);
  }
});

Deno.test("requireRoute: a filter id without a node is not found", () => {
  const nodes = readNodesOf("a b");
  for (
    const params of [["0x102"], ["0x1ff"], ["0x1"], ["x0x100"], ["0x1 00"], ["0x10z"], ["0x100 "]]
      .concat([[]])
  ) {
    const filter = callOf("eth_getFilterChanges", params);
    assert.throws(() => requireRoute(filter, nodes), notFound, JSON.stringify(params));
  }
  for (const params of [[7], { 0: "0x100" }]) {
    assert.throws(() => requireRoute(callOf("eth_getFilterLogs", params), nodes), notFound);
  }
  for (const method of ["eth_getFilterChangesNow", "x_eth_getFilterLogs", "getFilterLogs"]) {
    assert.equal(requireRoute(callOf(method, ["0x102"]), nodes).node, nodes.leader, method);
  }
});

Deno.test("requireRoute: a filter of an unreachable node is not found; other failures are unchanged", () => {
  const nodes = readNodesOf("a b");
  const away = answerLost("read", "gone");
  const late = nodeTimeout("read", 1);
  const { status, rpcCode, message } = failureForClient(callOf("eth_getFilterLogs"), nodes, away);
  assert.deepEqual({ status, rpcCode, message }, notFound);
  const rows: [method: string, error: ProxyError][] = [
    ["eth_getFilterLogs", late],
    ["eth_getLogs", away],
    ["eth_newFilter", away],
  ];
  for (const [method, error] of rows) {
    assert.equal(failureForClient(callOf(method), nodes, error), error, method);
  }
});

Deno.test("requireRoute: the refusal of a range names the block that is missing, not one that does not exist", () => {
  const nodes = readNodesOf("a b");
  nodes.onHead(nodes.leader, { number: 9, timestampS: 0 });
  nodes.onDied(nodes.leader, "gone");
  const range = callOf("eth_getLogs", [{ fromBlock: "0x9", toBlock: "0xffffff" }]);
  const message = "No responding read node has block 9 yet: try again";
  assert.throws(() => requireRoute(range, nodes), { status: 503, rpcCode: -32002, message });
});

Deno.test("requireRoute: finds the block parameter of each method", () => {
  const positions: Record<string, number> = {
    eth_getBlockByNumber: 0,
    eth_getBlockReceipts: 0,
    eth_getBlockTransactionCountByNumber: 0,
    eth_getHeaderByNumber: 0,
    eth_getRawTransactionByBlockNumberAndIndex: 0,
    eth_getTransactionByBlockNumberAndIndex: 0,
    eth_getUncleByBlockNumberAndIndex: 0,
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
      return blocksOf(method, params);
    });
    assert.deepEqual(found, [0, 1, 2, 3].map((at) => at === position ? [31] : []), method);
  }
  assert.deepEqual(blocksOf("eth_chainId", ["0x1f", "0x1f", "0x1f"]), []);
});

Deno.test("requireRoute: uses the blocks of a filter or block object, and ignores other values", () => {
  const rows: [named: unknown, blocks: number[]][] = [
    ["0x0", [0]],
    ["0xFfFf", [65_535]],
    [`0x${"1".repeat(13)}`, [0x1111111111111]],
    [`0x${"1".repeat(14)}`, []],
    [{ fromBlock: "0x5", toBlock: "0x7" }, [5, 7]],
    [{ fromBlock: "0x7", toBlock: "latest" }, [7]],
    [{ fromBlock: "earliest", toBlock: "0x3" }, [3]],
    [{ blockNumber: "0x9", requireCanonical: true }, [9]],
    [{ blockHash: "0x9" }, []],
    ...[null, "latest", "0x", "0xg", " 0x1", "0x1 ", 7, undefined, {}, []]
      .map((named): [unknown, number[]] => [named, []]),
  ];
  for (const [named, blocks] of rows) {
    assert.deepEqual(blocksOf("eth_getLogs", [named]), blocks, JSON.stringify(named));
  }
  for (const params of [undefined, { 0: "0x1" }]) {
    assert.deepEqual(blocksOf("eth_getLogs", params), []);
  }
});
