import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { arrayElements, memberText } from "../../../lib/json_text.ts";
import type { Target } from "../shared/metrics.ts";
import type { Call } from "./message.ts";
import { type NodeReply, tryParseAnswer, withCallerId } from "../shared/envelopes.ts";
import { answerLost, answerText, failureText, retryAdvice } from "../shared/failures.ts";

/**
 * A node's answers to a batch, in the order of the calls. Each is as the node wrote it, but with
 * its caller's id; undefined for a call without an id. A node may answer in any order, leave calls
 * out, or answer the whole batch with one error.
 *
 * @param firstId Id of the first call as sent; the others have the next ids in order.
 * @throws {ProxyError} 502 / -32002 if the reply is not JSON.
 */
export function splitBatchReply(
  calls: readonly Pick<Call, "id">[],
  firstId: number,
  { status, body }: NodeReply,
  target: Target,
): (string | undefined)[] {
  if (calls.every(({ id }) => id === undefined)) return calls.map(() => undefined);
  const value = parse(body, status, target);
  const answers = Array.isArray(value)
    ? answersById(value, body, firstId, calls.length)
    : calls.map(() => sharedError(value, body) ?? "");
  return calls.map(({ id }, index) => {
    if (id === undefined) return undefined;
    const answer = tryParseAnswer({ status, body: answers[index] ?? "" }, firstId + index);
    return answer?.idSpan ? withCallerId(answer, id) : missingAnswerText(id, target);
  });
}

function parse(text: string, status: number, target: Target): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw answerLost(target, `HTTP status ${status} without a JSON body`, cause);
  }
}

function answersById(
  values: readonly unknown[],
  text: string,
  firstId: number,
  count: number,
): string[] {
  const texts = arrayElements(text);
  const answers: string[] = [];
  for (const [index, value] of values.entries()) {
    const isObject = typeof value === "object" && value !== null && "id" in value;
    const position = isObject ? Number(value.id) - firstId : NaN;
    if (position >= 0 && position < count) answers[position] ??= texts[index] ?? "";
  }
  return answers;
}

/** One error for the whole batch becomes the answer of each of its calls. */
function sharedError(value: unknown, text: string): string | undefined {
  const isError = typeof value === "object" && value !== null && "error" in value;
  const error = isError ? memberText(text, "error") : undefined;
  return error && answerText(undefined, "error", error);
}

function missingAnswerText(id: string, target: Target): string {
  const advice = target === "read" ? ": send it alone" : retryAdvice(target);
  const message = `The ${target} node did not answer this call of the batch${advice}`;
  return failureText(id, { rpcCode: RpcCode.internalError, message });
}
