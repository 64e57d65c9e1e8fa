import type { Target } from "../metrics.ts";

/** Write methods by name (protocol page, "JSON-RPC answers of the proxy"). */
const WRITE_METHODS = ["core_sendTransaction", "core_settleThesis"];

/** Write methods by convention: `eth_sendRawTransaction`, `personal_sign`, `eth_cancel…` and so on. */
const WRITE_VERB = /^[^_]*_(?:send|submit|sign|cancel)/;

/**
 * Reads that ask and change nothing: equal ones in flight may share one answer, and one whose answer
 * was lost may be sent again. Filters are left out, since they keep a position for their caller, and
 * so is every method not known to be harmless (`evm_mine` twice is two blocks).
 */
const PLAIN_READ =
  /^(?:eth_(?:get(?!Filter|Work)|call$|estimateGas$|blockNumber$|chainId$|gasPrice$|feeHistory$|maxPriorityFeePerGas$|blobBaseFee$|syncing$)|core_(?:get|simulate)|net_version$|web3_clientVersion$)/;

const SUBSCRIPTION = /^([^_]+)_(subscribe|unsubscribe)$/;

/** A subscription method taken apart: `eth_subscribe` is `{ namespace: "eth", verb: "subscribe" }`. */
export interface SubscriptionMethod {
  namespace: string;
  verb: "subscribe" | "unsubscribe";
}

/** Classified methods that are cached; callers choose names freely. */
const CACHED_METHODS_MAX = 1_000;

/** Where a method goes, and what may be done with its calls. */
export interface MethodKind {
  target: Target;
  /** It asks and changes nothing; never true for a write. */
  isPlainRead: boolean;
}

/** Knows each method's node. */
export class MethodTable {
  readonly #writes: ReadonlySet<string>;
  readonly #cached = new Map<string, MethodKind>();

  /** @param extraWrites Names that go to the write node beside those known. */
  constructor(extraWrites: readonly string[] = []) {
    this.#writes = new Set([...WRITE_METHODS, ...extraWrites]);
  }

  /** Write methods go to the write node, all others to the read node. */
  kindOf(method: string): MethodKind {
    const cached = this.#cached.get(method);
    if (cached !== undefined) return cached;
    const isWrite = this.#writes.has(method) || WRITE_VERB.test(method);
    const kind: MethodKind = {
      target: isWrite ? "write" : "read",
      isPlainRead: !isWrite && PLAIN_READ.test(method),
    };
    if (this.#cached.size < CACHED_METHODS_MAX) this.#cached.set(method, kind);
    return kind;
  }
}

/** Reads a subscription method of any namespace; undefined for all other methods. */
export function subscriptionMethod(method: string): SubscriptionMethod | undefined {
  const match = SUBSCRIPTION.exec(method);
  if (match?.[1] === undefined) return undefined;
  return { namespace: match[1], verb: match[2] === "subscribe" ? "subscribe" : "unsubscribe" };
}
