import type { CoreClient } from "../net/core_client.ts";
import { isNodeAway, NodeUnreachableError } from "../net/core_reader.ts";
import { RpcCode, RpcError } from "../protocol/jsonrpc.ts";
import type { Receipt } from "../protocol/receipt.ts";
import type { SignedTransactionText } from "./intent.ts";

/** The part of a core node that a submitter needs. */
export type SubmissionNode = Pick<
  CoreClient,
  "sendTransactionText" | "getTransaction" | "simulateTransactionText"
>;

/** What a node said when it was sent a transaction, or asked for its receipt. */
export type NodeAnswer =
  | { kind: "receipt"; receipt: Receipt }
  /** It has no receipt. */
  | { kind: "missing" }
  /** It refuses the transaction, and will again. */
  | { kind: "refused"; error: RpcError }
  /** It said nothing, or nothing about the transaction. */
  | { kind: "unknown"; cause: unknown };

/**
 * Answers of the node that a retry cannot change. "Method not found" is not one: the URL is that of
 * a read port by mistake, and the intent waits until the operator corrects it.
 */
const FINAL_RPC_CODES: ReadonlySet<number> = new Set([
  RpcCode.transactionRejected,
  RpcCode.parseError,
  RpcCode.invalidRequest,
  RpcCode.invalidParams,
]);

/** Sends a transaction. If the node refuses it, it is also asked for the receipt. */
export async function sendOnce(
  node: SubmissionNode,
  transaction: SignedTransactionText,
): Promise<NodeAnswer> {
  const { text, txHash } = transaction;
  const answer = await answerTo(() => node.sendTransactionText(text, txHash));
  if (answer.kind !== "refused") return answer;
  // The node may have committed the transaction earlier, and refuse it now because it is too old.
  const known = await askForReceipt(node, transaction);
  return known.kind === "missing" ? answer : known;
}

export async function askForReceipt(
  node: SubmissionNode,
  { txHash }: SignedTransactionText,
): Promise<NodeAnswer> {
  const answer = await answerTo(() => node.getTransaction(txHash));
  // It refused the question, not the transaction.
  return answer.kind === "refused" ? { kind: "unknown", cause: answer.error } : answer;
}

/**
 * The receipt that a new transaction would get now. Null if the node refuses it, such as for the
 * time of a clock that is wrong.
 */
export async function simulate(
  node: SubmissionNode,
  { text, txHash }: SignedTransactionText,
): Promise<Receipt | null> {
  const answer = await answerTo(() => node.simulateTransactionText(text, txHash));
  if (answer.kind === "unknown") throw answer.cause;
  return answer.kind === "receipt" ? answer.receipt : null;
}

/** @throws Errors that are not the node's. */
async function answerTo(request: () => Promise<Receipt | null>): Promise<NodeAnswer> {
  try {
    const receipt = await request();
    return receipt === null ? { kind: "missing" } : { kind: "receipt", receipt };
  } catch (thrown) {
    if (!isNodeAway(thrown) && !(thrown instanceof RpcError)) throw thrown;
    const isFinal = thrown instanceof RpcError && FINAL_RPC_CODES.has(thrown.rpcCode);
    return isFinal ? { kind: "refused", error: thrown } : { kind: "unknown", cause: thrown };
  }
}

/** Whether the connection broke: perhaps only the answer was lost. */
export function isConnectionLost(answer: NodeAnswer): boolean {
  return answer.kind === "unknown" && answer.cause instanceof NodeUnreachableError;
}

/** Whether an error means that the node is unreachable or paused, or that the proxy has no node. */
export function isNodeUnusable(thrown: unknown): boolean {
  return isNodeAway(thrown) ||
    thrown instanceof RpcError && thrown.rpcCode === RpcCode.resourceUnavailable;
}
