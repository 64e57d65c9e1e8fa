import { Buffer } from "node:buffer";
import { limitExceeded } from "../shared/failures.ts";

export interface SubscriptionRequest {
  /** The part before the underscore: `eth` of `eth_subscribe`. */
  namespace: string;
  /** JSON text of the parameters, for the node. */
  paramsText: string;
  /** Equal for requests that mean the same. */
  key: string;
  /** The filter of theses, as in {@link filtersOf}; undefined for any other subscription. */
  thesisFilter?: string;
}

/** A `logs` filter of fifty addresses fits. All subscriptions share one socket to the node. */
export const SUBSCRIPTION_PARAMS_BYTES_MAX = 4_096;

/** Levels of nesting; a `logs` filter has four. */
const DEPTH_MAX = 16;

/** Subscriptions of the core node without a filter: parameters after the kind are left out. */
const KINDS_WITHOUT_FILTER: ReadonlySet<unknown> = new Set(["newHeads", "prices", "transactions"]);

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

export const NEW_HEADS_KEY = keyOf("eth", ["newHeads"]);

export const ALL_THESES: SubscriptionRequest = {
  namespace: "eth",
  paramsText: '["theses"]',
  key: keyOf("eth", ["theses"]),
};

/** Feeds without parameters, of this chain and of Ethereum: so few that everybody may use them. */
export const SHARED_FEED_KEYS: ReadonlySet<string> = new Set([
  ALL_THESES.key,
  ...[...KINDS_WITHOUT_FILTER, "logs", "newPendingTransactions", "syncing"]
    .map((kind) => keyOf("eth", [kind])),
]);

/**
 * Reads the parameters of a subscribe call.
 *
 * @throws {ProxyError} 413 / -32005 if its parameters are too long or nested too deep.
 */
export function parseSubscriptionRequest(
  namespace: string,
  call: { paramsText?: string; params?: unknown },
): SubscriptionRequest {
  const { paramsText: written = "[]" } = call;
  if (Buffer.byteLength(written) > SUBSCRIPTION_PARAMS_BYTES_MAX) {
    const message = `Parameters of a subscription are over ${SUBSCRIPTION_PARAMS_BYTES_MAX} bytes`;
    throw limitExceeded(413, `${message}: ask for less`);
  }
  // A copy: a slice of a message keeps the whole message in memory, for as long as it is kept.
  const paramsText = Buffer.from(written).toString();
  const params = call.params ?? [];
  const used = namespace === "eth" ? usedParams(params) : undefined;
  if (used === undefined) {
    const key = keyOf(namespace, params);
    return {
      namespace,
      paramsText,
      key: isExact(paramsText, params) ? key : `${namespace} ${paramsText}`,
    };
  }
  const [, parties] = used;
  const request = { namespace, paramsText: JSON.stringify(used), key: keyOf(namespace, used) };
  return parties === undefined ? request : { ...request, thesisFilter: filterOf(parties) };
}

/** The users and solvers of theses, in lower case; undefined for any. */
interface Parties {
  user?: string;
  solver?: string;
}

function filterOf({ user = "", solver = "" }: Parties): string {
  return `${user} ${solver}`;
}

/** The filters that select the thesis of a notification; undefined if it is not a thesis. */
export function filtersOf(thesis: unknown): string[] | undefined {
  if (typeof thesis !== "object" || thesis === null) return undefined;
  const { user, solver }: { user?: unknown; solver?: unknown } = thesis;
  if (!isAddress(user) || !isAddress(solver)) return undefined;
  const parties = { user: user.toLowerCase(), solver: solver.toLowerCase() };
  return [parties, { user: parties.user }, { solver: parties.solver }].map(filterOf);
}

/** The parameters that the core node uses; undefined if they are unknown. */
function usedParams(params: unknown): [kind: unknown, parties?: Parties] | undefined {
  if (!Array.isArray(params) || params.length > 2) return undefined;
  const [kind, filter]: unknown[] = params;
  if (KINDS_WITHOUT_FILTER.has(kind)) return [kind];
  if (kind !== "theses" || typeof filter !== "object" || filter === null) return undefined;
  const { user, solver, ...others }: { user?: unknown; solver?: unknown } = filter;
  // The node refuses them, and says so.
  if (Object.keys(others).length > 0) return undefined;
  if (![user, solver].every((part) => part === undefined || isAddress(part))) return undefined;
  // Addresses are case-insensitive.
  const lower = (part: unknown) => typeof part === "string" ? part.toLowerCase() : undefined;
  const used = { user: lower(user), solver: lower(solver) };
  return user === undefined && solver === undefined ? [kind] : [kind, used];
}

function isAddress(value: unknown): value is string {
  return typeof value === "string" && ADDRESS.test(value);
}

/**
 * Whether parsing kept everything except spaces. Otherwise the request is not shared: different
 * numbers can be equal after parsing, and of a repeated member some nodes take the first.
 */
function isExact(text: string, params: unknown): boolean {
  return text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1") === JSON.stringify(params);
}

/** Parameters that differ only in spacing or in the order of members mean the same. */
function keyOf(namespace: string, params: unknown): string {
  return `${namespace} ${canonical(params, 1)}`;
}

function canonical(value: unknown, depth: number): string {
  // Undefined members are left out, as in JSON.
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (depth > DEPTH_MAX) {
    const message = `Parameters of a subscription are nested over ${DEPTH_MAX} levels deep`;
    throw limitExceeded(413, `${message}: ask for less`);
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  const members = Object.entries(value).filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, item]) => `${JSON.stringify(name)}:${canonical(item, depth + 1)}`);
  return `{${members.join(",")}}`;
}
