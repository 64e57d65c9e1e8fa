import { allMethods } from "../../../lib/protocol/methods/all.ts";
import type { MethodTable } from "../../../lib/protocol/methods/definition.ts";
import type { Target } from "../shared/metrics.ts";

/** The methods of the node (docs/protocol.md), development methods included. */
const KNOWN: MethodTable = allMethods;

/** Write methods by convention, such as `eth_sendRawTransaction` and `personal_sign`. */
const WRITE_VERB = /^[^_]*_(?:send|submit|sign|cancel)/;

/**
 * Reads that change nothing: equal ones in flight may share an answer, and one whose answer was
 * lost may be sent again. Filters are excluded because they have a position per caller, and so is
 * every method not known to be harmless (`evm_mine` twice makes two blocks).
 */
const PLAIN_READ =
  /^(?:eth_(?:get(?!Filter|Work)|call$|estimateGas$|blockNumber$|chainId$|gasPrice$|feeHistory$|maxPriorityFeePerGas$|blobBaseFee$|syncing$)|net_version$|web3_clientVersion$)/;

/** Other reads whose answers may be megabytes. Blocks are large only with whole transactions. */
const LARGE_ANSWER = /^eth_get(?:Logs|BlockReceipts)$/;

const SUBSCRIPTION = /^([^_]+)_(subscribe|unsubscribe)$/;

/** A parsed subscription method: `eth_subscribe` is `{ namespace: "eth", verb: "subscribe" }`. */
interface SubscriptionMethod {
  namespace: string;
  verb: "subscribe" | "unsubscribe";
}

interface MethodKind {
  target: Target;
  /** Whether it changes nothing; never true for a write. */
  isPlainRead: boolean;
  /** Over the shared WebSocket, its answer could delay those of others. */
  hasLargeAnswer: boolean;
}

/** Classifies methods, and finds the node of each. */
export class MethodKinds {
  readonly #extraWrites: ReadonlySet<string>;
  readonly #extraLarge: ReadonlySet<string>;

  /**
   * @param extraWrites Further names that go to the write node.
   * @param extraLarge Further names of reads with large answers.
   */
  constructor(extraWrites: readonly string[] = [], extraLarge: readonly string[] = []) {
    this.#extraWrites = new Set(extraWrites);
    this.#extraLarge = new Set(extraLarge);
  }

  /** Write methods go to the write node, all others to the read node. */
  kindOf(method: string): MethodKind {
    const known = Object.hasOwn(KNOWN, method) ? KNOWN[method] : undefined;
    const isWrite = this.#extraWrites.has(method) || known?.access === "write" ||
      WRITE_VERB.test(method);
    const isPlainRead = !isWrite &&
      (known === undefined ? PLAIN_READ.test(method) : known.access === undefined);
    return {
      target: isWrite ? "write" : "read",
      isPlainRead,
      hasLargeAnswer: this.#extraLarge.has(method) ||
        (known?.hasLargeAnswer ?? LARGE_ANSWER.test(method)),
    };
  }
}

/** Reads a subscription method of any namespace; undefined for all other methods. */
export function tryParseSubscriptionMethod(method: string): SubscriptionMethod | undefined {
  const match = SUBSCRIPTION.exec(method);
  if (match?.[1] === undefined) return undefined;
  return { namespace: match[1], verb: match[2] === "subscribe" ? "subscribe" : "unsubscribe" };
}
