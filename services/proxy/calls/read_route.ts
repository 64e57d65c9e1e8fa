import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { memberText, replaceMember } from "../../../lib/json_text.ts";
import { type ReadNode, tryParseQuantity } from "../node/read_node.ts";
import type { ReadNodes } from "../node/read_nodes.ts";
import type { Call } from "./message.ts";
import { textAfterIdOf } from "../shared/envelopes.ts";
import { ProxyError } from "../shared/failures.ts";

/** Calls that create a filter, which lives on the node that answered. */
const NEW_FILTER = /^[^_]+_new(?:Block|PendingTransaction)?Filter$/;

const FILTER_USE = /^[^_]+_(?:getFilterChanges|getFilterLogs|uninstallFilter)$/;

/** The id of a filter for clients: the node's own id, then two hex digits for one of 256 nodes. */
const FILTER_ID = /^(0x[0-9a-fA-F]*)([0-9a-fA-F]{2})$/;

/** The position of the block in the parameters of each method. */
const BLOCK_POSITIONS: ReadonlyMap<string, number> = new Map([
  ["eth_getBlockByNumber", 0],
  ["eth_getBlockReceipts", 0],
  ["eth_getBlockTransactionCountByNumber", 0],
  ["eth_getHeaderByNumber", 0],
  ["eth_getRawTransactionByBlockNumberAndIndex", 0],
  ["eth_getTransactionByBlockNumberAndIndex", 0],
  ["eth_getUncleByBlockNumberAndIndex", 0],
  ["eth_getUncleCountByBlockNumber", 0],
  ["eth_getLogs", 0],
  ["eth_newFilter", 0],
  ["eth_call", 1],
  ["eth_estimateGas", 1],
  ["eth_feeHistory", 1],
  ["eth_getBalance", 1],
  ["eth_getCode", 1],
  ["eth_getTransactionCount", 1],
  ["eth_getStorageAt", 2],
  ["eth_getProof", 2],
]);

export interface ReadRoute {
  node: ReadNode;
  /** The blocks that the call names; undefined if it names none. */
  blocks?: readonly number[];
  /** The text of the call after its id, as it is sent to that node. */
  textAfterId: string;
}

/**
 * Picks the read node of a call: a filter lives on one of them, and a block does not arrive on all
 * of them at the same moment.
 *
 * @throws {ProxyError} -32000 for the id of an unknown filter; 503 / -32002 if no responding node
 *   has the block: a node without it would return too few logs, or nothing.
 */
export function requireRoute(call: Call, nodes: ReadNodes): ReadRoute {
  const { textAfterId, method } = call;
  if (nodes.hasSeveral && FILTER_USE.test(method)) return requireFilterRoute(call, nodes);
  const blocks = blocksOf(call);
  if (blocks === undefined) return { node: nodes.leader, textAfterId };
  const node = nodes.findNodeForBlocks(blocks);
  if (node !== undefined) return { node, blocks, textAfterId };
  const message = `No responding read node has block ${nodes.highestKnown(blocks)} yet: try again`;
  throw new ProxyError(503, RpcCode.resourceUnavailable, message);
}

function requireFilterRoute({ method, params }: Call, nodes: ReadNodes): ReadRoute {
  const [id, ...rest]: unknown[] = Array.isArray(params) ? params : [];
  const [, nodesId, digits] = (typeof id === "string" ? FILTER_ID.exec(id) : null) ?? [];
  const node = nodes.all[parseInt(digits ?? "", 16)];
  if (nodesId === undefined || node === undefined) throw filterNotFound();
  return { node, textAfterId: textAfterIdOf(method, JSON.stringify([nodesId, ...rest])) };
}

/** The answer as its caller gets it: of several nodes, a new filter's id ends with the node's digits. */
export function answerForClient(
  { method }: Pick<Call, "method">,
  nodes: ReadNodes,
  node: ReadNode | undefined,
  text: string,
): string {
  if (!nodes.hasSeveral || node === undefined || !NEW_FILTER.test(method)) return text;
  const result = memberText(text, "result");
  if (result === undefined || !/^"0x[0-9a-fA-F]*"$/.test(result)) return text;
  const suffix = node.index.toString(16).padStart(2, "0");
  return replaceMember(text, "result", `${result.slice(0, -1)}${suffix}"`);
}

/** The failure of a call as its caller gets it: of several nodes, a filter of a lost one is gone. */
export function failureForClient(
  { method }: Pick<Call, "method">,
  nodes: ReadNodes,
  error: ProxyError,
): ProxyError {
  const isFilterLost = nodes.hasSeveral && error.status === 502 && FILTER_USE.test(method);
  return isFilterLost ? filterNotFound(error) : error;
}

/** The error that geth sends; clients then create the filter again. */
function filterNotFound(cause?: unknown): ProxyError {
  return new ProxyError(200, RpcCode.serverError, "filter not found", cause);
}

/** The blocks that a read names by number; undefined if it names none. */
function blocksOf({ method, params }: Call): number[] | undefined {
  const position = BLOCK_POSITIONS.get(method);
  if (position === undefined || !Array.isArray(params)) return undefined;
  const named: unknown = params[position];
  const { fromBlock, toBlock, blockNumber }: {
    fromBlock?: unknown;
    toBlock?: unknown;
    blockNumber?: unknown;
  } = typeof named === "object" && named !== null ? named : { blockNumber: named };
  const numbers = [fromBlock, toBlock, blockNumber].map(tryParseQuantity)
    .filter((number) => number !== undefined);
  return numbers.length === 0 ? undefined : numbers;
}
