import type { Call } from "./calls.ts";

/** The position of the block in the parameters of each method. */
const POSITIONS: ReadonlyMap<string, number> = new Map([
  ["eth_getBlockByNumber", 0],
  ["eth_getBlockReceipts", 0],
  ["eth_getBlockTransactionCountByNumber", 0],
  ["eth_getTransactionByBlockNumberAndIndex", 0],
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

const QUANTITY = /^0x[0-9a-fA-F]{1,13}$/;

/** The highest block that a read names by number; undefined if it names none. */
export function blockOf({ method, params }: Pick<Call, "method" | "params">): number | undefined {
  const position = POSITIONS.get(method);
  if (position === undefined || !Array.isArray(params)) return undefined;
  const named: unknown = params[position];
  if (typeof named !== "object" || named === null) return numberOf(named);
  const { fromBlock, toBlock, blockNumber }: {
    fromBlock?: unknown;
    toBlock?: unknown;
    blockNumber?: unknown;
  } = named;
  const numbers = [fromBlock, toBlock, blockNumber].map(numberOf)
    .filter((number) => number !== undefined);
  return numbers.length === 0 ? undefined : Math.max(...numbers);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "string" && QUANTITY.test(value) ? Number(value) : undefined;
}
