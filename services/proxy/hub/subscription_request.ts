import { Buffer } from "node:buffer";
import { RangemakerError } from "../../../lib/errors.ts";
import { memberText } from "../json_text.ts";

/** The subscription that a client requests. */
export interface SubscriptionRequest {
  /** The part before the underscore: `eth` of `eth_subscribe`. */
  namespace: string;
  /** JSON text of the parameters, for the node. */
  paramsText: string;
  /** Equal for requests that mean the same. */
  key: string;
}

/** A `logs` filter of fifty addresses fits. All clients' subscriptions share one socket to the node. */
export const SUBSCRIPTION_PARAMS_BYTES_MAX = 4_096;

/** Levels of nesting; a `logs` filter has four. */
const DEPTH_MAX = 16;

/** Subscriptions of the core node without a filter: it ignores parameters after the kind. */
const KINDS_WITHOUT_FILTER: ReadonlySet<unknown> = new Set(["newHeads", "prices", "transactions"]);

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** The key of `eth_subscribe` with `["newHeads"]`. */
export const NEW_HEADS_KEY = keyOf("eth", ["newHeads"]);

/** The parameters of a subscription are over a limit. */
export class SubscriptionParamsError extends RangemakerError {
  constructor(message: string) {
    super("SUBSCRIPTION_PARAMS", message);
  }
}

/**
 * Reads the parameters of a subscribe call.
 *
 * @throws {SubscriptionParamsError} If its parameters are too long or nested too deep.
 */
export function subscriptionRequest(
  namespace: string,
  call: { text: string; params?: unknown },
): SubscriptionRequest {
  const paramsText = memberText(call.text, "params") ?? "[]";
  if (Buffer.byteLength(paramsText) > SUBSCRIPTION_PARAMS_BYTES_MAX) {
    throw new SubscriptionParamsError(
      `Parameters of a subscription are over ${SUBSCRIPTION_PARAMS_BYTES_MAX} bytes: ask for less`,
    );
  }
  const params = call.params ?? [];
  const used = namespace === "eth" ? usedParams(params) : undefined;
  if (used !== undefined) {
    return { namespace, paramsText: JSON.stringify(used), key: keyOf(namespace, used) };
  }
  const key = keyOf(namespace, params);
  // Different numbers can be equal after parsing; such requests are not shared.
  return { namespace, paramsText, key: isExact(params) ? key : `${namespace} ${paramsText}` };
}

/** The parameters that the core node uses; undefined if all may matter. */
function usedParams(params: unknown): unknown[] | undefined {
  if (!Array.isArray(params) || params.length > 2) return undefined;
  const [kind, filter]: unknown[] = params;
  if (KINDS_WITHOUT_FILTER.has(kind)) return [kind];
  if (kind !== "theses" || typeof filter !== "object" || filter === null) return undefined;
  const { user, solver }: { user?: unknown; solver?: unknown } = filter;
  if (![user, solver].every((part) => part === undefined || isAddress(part))) return undefined;
  // Addresses are case-insensitive.
  const lower = (part: unknown) => typeof part === "string" ? part.toLowerCase() : undefined;
  const used = { user: lower(user), solver: lower(solver) };
  return user === undefined && solver === undefined ? [kind] : [kind, used];
}

function isAddress(value: unknown): value is string {
  return typeof value === "string" && ADDRESS.test(value);
}

/** Whether parsing kept every number of a value exactly. */
function isExact(value: unknown): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(isExact);
}

/** Parameters that differ only in spacing or in the order of members mean the same. */
function keyOf(namespace: string, params: unknown): string {
  return `${namespace} ${canonical(params, 1)}`;
}

function canonical(value: unknown, depth: number): string {
  // Undefined members are left out, as in JSON.
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (depth > DEPTH_MAX) {
    throw new SubscriptionParamsError(
      `Parameters of a subscription are nested over ${DEPTH_MAX} levels deep: ask for less`,
    );
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  const members = Object.entries(value).filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, item]) => `${JSON.stringify(name)}:${canonical(item, depth + 1)}`);
  return `{${members.join(",")}}`;
}
