import { memberText } from "../json_text.ts";

/** What a client subscribes to. */
export interface SubscriptionRequest {
  /** As in `eth_subscribe`. */
  namespace: string;
  /** JSON text of the parameters, as the first client wrote them. */
  paramsText: string;
  /** Equal for requests that mean the same. */
  key: string;
}

/** The key of `eth_subscribe` with `["newHeads"]`. */
export const NEW_HEADS_KEY = keyOf("eth", ["newHeads"]);

/** Reads what a subscribe call asks for. */
export function subscriptionRequest(
  namespace: string,
  call: { text: string; params?: unknown },
): SubscriptionRequest {
  const paramsText = memberText(call.text, "params") ?? "[]";
  const params = call.params ?? [];
  // Numbers that differ may look alike once they are read: such requests share nothing.
  const key = isExact(params) ? keyOf(namespace, params) : `${namespace} ${paramsText}`;
  return { namespace, paramsText, key };
}

/** Whether all numbers of a value are what was written. */
function isExact(value: unknown): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(isExact);
}

/** Parameters that differ only in spacing or in the order of members mean the same. */
function keyOf(namespace: string, params: unknown): string {
  return `${namespace} ${canonical(params)}`;
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(",")}}`;
}
