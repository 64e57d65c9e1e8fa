import type { CoreClient } from "../net/core_client.ts";
import { nullIfUnsupported } from "../net/core_reader.ts";
import type { HeadTime } from "./clock_comparison.ts";
import type { Intent } from "./intent.ts";
import type { IntentStore } from "./store.ts";

/** A read node behind a proxy may be this many blocks behind the write node. */
const READ_NODE_LAG_BLOCKS = 50;

/** A read node may know a receipt this much later than the write node. */
const READ_NODE_LAG_MS = 2_000;

export interface RewindDetectorOptions {
  store: Pick<IntentStore, "find">;
  node: Pick<CoreClient, "getHead" | "getTransaction">;
  /** Whether the chain has the effect of a committed intent whose receipt the node lacks. */
  isOnChain(intent: Intent): Promise<boolean>;
}

/** Looks for a sign that the node went back to an older state of its chain. */
export class RewindDetector {
  readonly #options: RewindDetectorOptions;
  /** The newest committed intents, oldest first: the first and the last of each second. */
  #recentCommits: Intent[] = [];
  /** Sequence of the newest committed intent that this process knows. */
  #newestSequence = 0;

  constructor(options: RewindDetectorOptions) {
    this.#options = options;
  }

  /** An intent is committed: the node must have its receipt. */
  onCommitted(intent: Intent): void {
    this.#newestSequence = Math.max(this.#newestSequence, intent.sequence);
    const beforeLast = this.#recentCommits.at(-2);
    if (beforeLast !== undefined && intent.updatedAtMs - beforeLast.updatedAtMs < 1_000) {
      this.#recentCommits.pop();
    }
    this.#recentCommits.push(intent);
  }

  /** The newest committed intent of the store, which another process may have committed. */
  onNewestRead(intent: Intent | undefined): void {
    if (intent !== undefined && intent.sequence > this.#newestSequence) this.onCommitted(intent);
  }

  /** The chain was reverted on purpose: it need not have what was committed before. */
  forget(): void {
    this.#recentCommits = [];
  }

  /**
   * Compares the node with the highest block that it had, and with the commits of this service.
   *
   * @returns The node's newest block, null if it does not report it; and a sign that it went back,
   *   in words that follow "the node".
   */
  async check(
    highestBlock: number,
    nowMs: number,
  ): Promise<{ head: HeadTime | null; evidence?: string }> {
    const [head, missing] = await Promise.all([
      nullIfUnsupported(this.#options.node.getHead()),
      this.#findMissing(nowMs - READ_NODE_LAG_MS),
    ]);
    if (head !== null && head.number + READ_NODE_LAG_BLOCKS < highestBlock) {
      const evidence = `is at block ${head.number}, but was at block ${highestBlock} before`;
      return { head, evidence };
    }
    if (missing === undefined) return { head };
    const txHash = missing.transaction?.txHash;
    return { head, evidence: `does not have transaction ${txHash}, which it had committed before` };
  }

  /**
   * Looks for the receipts of commits up to `dueMs`, and again for the newest if none is missing.
   */
  async #findMissing(dueMs: number): Promise<Intent | undefined> {
    const firstNotDue = this.#recentCommits.findIndex(({ updatedAtMs }) => updatedAtMs > dueMs);
    const due = this.#recentCommits.slice(0, firstNotDue < 0 ? undefined : firstNotDue);
    const areCommitted = await Promise.all(due.map((intent) => this.#isStillCommitted(intent)));
    const missing = due[areCommitted.indexOf(false)];
    if (missing !== undefined) return missing;
    const done = new Set(due.slice(0, -1));
    this.#recentCommits = this.#recentCommits.filter((intent) => !done.has(intent));
    return undefined;
  }

  async #isStillCommitted(intent: Intent): Promise<boolean> {
    if (await this.#isKnown(intent)) return true;
    // An operator may have reconciled store and chain since.
    const current = await this.#options.store.find(intent.key);
    return current?.state !== "committed" || await this.#isKnown(current);
  }

  async #isKnown(intent: Intent): Promise<boolean> {
    const { node, isOnChain } = this.#options;
    if (intent.transaction === null) return true;
    const receipt = await node.getTransaction(intent.transaction.txHash);
    return receipt?.status === "committed" || await isOnChain(intent);
  }
}
