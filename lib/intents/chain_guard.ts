import type { Clock } from "../clock.ts";
import { RangemakerError } from "../errors.ts";
import type { CoreClient } from "../net/core_client.ts";
import { cached } from "../net/cached.ts";
import { RpcCode, RpcError } from "../protocol/jsonrpc.ts";
import type { Hex } from "../protocol/scalars.ts";
import { redactUrls } from "../redact.ts";
import type { Intent } from "./intent.ts";
import type { StoreMemory } from "./sql.ts";
import type { IntentStore } from "./store.ts";

/** How long an answer of the node is cached: less than a node needs to start with another chain. */
const CHECKED_MS = 100;

/** A read node behind a proxy may know a block or a receipt this much later than the write node. */
const LAG_BLOCKS = 50;
const LAG_MS = 2_000;

/** Dependencies of a {@link ChainGuard}. */
export interface ChainGuardOptions {
  store: Pick<IntentStore, "check" | "find" | "remember" | "newestCommitted">;
  node: Pick<CoreClient, "url" | "genesisHash" | "getHead" | "getTransaction">;
  clock: Clock;
  /** Whether the chain has what a committed intent says, although the node has no receipt of it. */
  isOnChain(intent: Intent): Promise<boolean>;
}

/** The node's chain is not the one that the store knows: nothing is submitted. */
export class ChainError extends RangemakerError {
  constructor(code: "CHAIN_MISMATCH" | "CHAIN_REWOUND", message: string) {
    super(code, message, { retryable: true });
  }
}

/**
 * Checks that the node has the chain of a store. The store binds itself to the first chain that it
 * meets, by the hash of the first block, and remembers the highest block. Its used nonces and receipts
 * are invalid on another chain, and on an older state of the same one.
 */
export class ChainGuard {
  /**
   * @throws {ChainError} If the node has another chain, or an older state of this one.
   * @throws {RangemakerError} If node or store does not answer.
   */
  readonly require: () => Promise<void>;
  readonly #options: ChainGuardOptions;
  #known: StoreMemory | undefined;
  /** Number of the newest block when the chain was last found to be right. */
  #head = 0;
  /** The newest committed intents, oldest first: the first and the last one of each second. */
  #committed: Intent[] = [];

  constructor(options: ChainGuardOptions) {
    this.#options = options;
    this.require = cached(() => this.#check(), CHECKED_MS, options.clock);
  }

  /** An intent was committed: the node must have its receipt. */
  committed(intent: Intent): void {
    const since = this.#committed.at(-2);
    if (since !== undefined && intent.updatedAtMs - since.updatedAtMs < 1_000) {
      this.#committed.pop();
    }
    this.#committed.push(intent);
  }

  /**
   * Checks that the store accepts writes, and the chain by what the store remembers, which another
   * process may have learned. Then remembers the node's newest block.
   */
  async refresh(): Promise<void> {
    const { store } = this.#options;
    await store.check();
    this.#known = await store.remember();
    const newest = await store.newestCommitted();
    const last = this.#committed.at(-1);
    if (newest !== undefined && newest.sequence > (last?.sequence ?? 0)) this.committed(newest);
    await this.require();
    this.#known = await store.remember({ highestBlock: this.#head });
  }

  /**
   * Checks that the node has this chain, be it in an older state.
   *
   * @returns Number of its newest block; 0 if it does not report it.
   * @throws {ChainError} `CHAIN_MISMATCH` if it has another one.
   */
  async requireGenesis(): Promise<number> {
    const { store, node } = this.#options;
    const { genesis } = await store.remember();
    requireSame(node.url, await node.genesisHash(), genesis);
    return await headOf(node) ?? 0;
  }

  async #check(): Promise<void> {
    const { store, node } = this.#options;
    if (this.#known === undefined) {
      this.#known = await store.remember();
      const newest = await store.newestCommitted();
      if (newest !== undefined) this.#committed = [newest];
    }
    const [genesis, head] = await Promise.all([node.genesisHash(), headOf(node)]);
    if (this.#known.genesis === null && genesis !== null) {
      this.#known = await store.remember({ genesis });
    }
    const { genesis: expected, highestBlock } = this.#known;
    requireSame(node.url, genesis, expected);
    if (head !== null && head + LAG_BLOCKS < highestBlock) {
      throw rewound(node.url, `is at block ${head}, but was at block ${highestBlock} before`);
    }
    await this.#requireCommitted();
    this.#head = head ?? 0;
  }

  /** Checks that the node has the receipts that are due, and still has the newest of them. */
  async #requireCommitted(): Promise<void> {
    const dueMs = this.#options.clock.now() - LAG_MS;
    let checked = 0;
    for (const intent of this.#committed) {
      if (intent.updatedAtMs > dueMs) break;
      await this.#requireReceipt(intent);
      checked += 1;
    }
    if (checked > 1) this.#committed.splice(0, checked - 1);
  }

  async #requireReceipt(intent: Intent): Promise<void> {
    const { store, node } = this.#options;
    if (await this.#isKnown(intent)) return;
    // An operator may have brought store and chain into line since.
    const current = await store.find(intent.key);
    if (current?.state !== "committed" || await this.#isKnown(current)) return;
    const txHash = intent.transaction?.txHash;
    throw rewound(node.url, `does not have transaction ${txHash}, which it had committed before`);
  }

  async #isKnown(intent: Intent): Promise<boolean> {
    const { node, isOnChain } = this.#options;
    if (intent.transaction === null) return true;
    const receipt = await node.getTransaction(intent.transaction.txHash);
    return receipt !== null || await isOnChain(intent);
  }
}

function requireSame(url: string, actual: Hex | null, expected: Hex | null): void {
  if (expected === null || actual === expected) return;
  const has = actual === null
    ? "does not tell its first block"
    : `has the chain that begins with ${actual}`;
  throw new ChainError(
    "CHAIN_MISMATCH",
    `Core node at ${redactUrls(url)} ${has}, but the database belongs to the chain that begins ` +
      `with ${expected}, so nothing is submitted: set --rpc-url to a node of that chain, or ` +
      "--database to a new database",
  );
}

function rewound(url: string, evidence: string): ChainError {
  return new ChainError(
    "CHAIN_REWOUND",
    `Core node at ${redactUrls(url)} ${evidence}: it was restored from a backup, so nothing is ` +
      "submitted. Restore a newer one, or run bridge replay and solver reconcile " +
      "(docs/operating.md, Backup and restore)",
  );
}

/** Number of the newest block; null if the node does not report it. */
async function headOf(node: Pick<CoreClient, "getHead">): Promise<number | null> {
  try {
    return (await node.getHead()).number;
  } catch (thrown) {
    if (thrown instanceof RpcError && thrown.rpcCode === RpcCode.methodNotFound) return null;
    throw thrown;
  }
}
