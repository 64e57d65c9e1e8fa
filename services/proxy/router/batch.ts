import { setImmediate } from "node:timers";
import { idOf, RpcCode, type RpcId } from "../../../lib/protocol/jsonrpc.ts";
import { type Call, idText } from "./calls.ts";
import { answerLost } from "./failures.ts";
import { type ByteBudget, SMALL_BYTES } from "../byte_budget.ts";
import { arrayElements, memberText } from "../json_text.ts";
import type { Target } from "../metrics.ts";
import { bodyText, type NodeReply } from "../http_pool/reply_body.ts";

/**
 * A node's answers to a batch in the order of the calls, each as the node wrote it; undefined for a
 * call without an id. A node may answer in any order, leave calls out, or answer the whole batch with
 * one error.
 *
 * @throws {ProxyError} 502 / -32002 if the reply is not JSON.
 */
export function splitBatchReply(
  calls: readonly Call[],
  reply: NodeReply,
  target: Target,
): (string | undefined)[] {
  if (calls.every((call) => call.id === undefined)) return calls.map(() => undefined);
  const text = bodyText(reply.body);
  const value = parse(text, reply.status, target);
  if (!Array.isArray(value)) return calls.map((call) => sameError(call, value, text, target));
  const byId = answersById(value, arrayElements(text));
  return calls.map((call) => {
    if (call.id === undefined) return undefined;
    return byId.get(keyOf(call.id))?.shift() ?? missing(call, target);
  });
}

function parse(text: string, status: number, target: Target): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw answerLost(target, `HTTP status ${status} without a JSON body`, cause);
  }
}

function answersById(values: readonly unknown[], texts: readonly string[]): Map<string, string[]> {
  const byId = new Map<string, string[]>();
  for (const [index, value] of values.entries()) {
    const key = keyOf(idOf(value));
    const queue = byId.get(key);
    const text = texts[index] ?? "";
    if (queue === undefined) byId.set(key, [text]);
    else queue.push(text);
  }
  return byId;
}

/** One error for the whole batch becomes the answer of each of its calls. */
function sameError(call: Call, value: unknown, text: string, target: Target): string | undefined {
  if (call.id === undefined) return undefined;
  const isError = typeof value === "object" && value !== null && "error" in value;
  const error = isError ? memberText(text, "error") : undefined;
  if (error === undefined) return missing(call, target);
  return `{"jsonrpc":"2.0","id":${idText(call)},"error":${error}}`;
}

/** Matches a call and its answer by their parsed id: a node may lose digits of a long number, too. */
function keyOf(id: RpcId): string {
  return JSON.stringify(id);
}

function missing(call: Call, target: Target): string {
  const message = `The ${target} node left this call of the batch unanswered: send it alone`;
  const error = JSON.stringify({ code: RpcCode.internalError, message });
  return `{"jsonrpc":"2.0","id":${idText(call)},"error":${error}}`;
}

/**
 * Allows one large reply to a batch to be split per turn of the event loop. Splitting 768 KiB takes 10
 * ms, and all batches of one caller may be answered at once: notifications and other callers' reads
 * are served in between.
 */
export class SplitTurns {
  readonly #budget: ByteBudget;
  #last: Promise<void> = Promise.resolve();

  /** @param budget Counts the replies that wait. */
  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Resolves when a reply of so many bytes may be split. */
  async next(bytes: number): Promise<void> {
    if (bytes <= SMALL_BYTES) return;
    this.#budget.add(bytes);
    this.#last = this.#last.then(() => new Promise((resolve) => setImmediate(resolve)));
    await this.#last;
    this.#budget.remove(bytes);
  }
}
