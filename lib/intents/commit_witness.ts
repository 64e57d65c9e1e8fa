import type { CoreClient } from "../net/core_client.ts";
import type { Intent } from "./intent.ts";
import type { IntentStore } from "./store.ts";

export interface CommitWitnessOptions {
  store: Pick<IntentStore, "find">;
  node: Pick<CoreClient, "getTransaction">;
  /** Whether the chain has the effect of a committed intent whose receipt the node lacks. */
  isOnChain(intent: Intent): Promise<boolean>;
}

/**
 * Remembers what the node has committed, and finds out whether it still has it: a node that was
 * restored from a backup of seconds ago shows in nothing else.
 */
export class CommitWitness {
  readonly #options: CommitWitnessOptions;
  /** Commits whose receipts are to be looked for: the last of each second, by that second. */
  readonly #unverified = new Map<number, Intent>();
  /** When the chain was last reverted on purpose: it need not have what was committed before. */
  #revertedAtMs = -Infinity;

  constructor(options: CommitWitnessOptions) {
    this.#options = options;
  }

  /** An intent was committed: the node must have its receipt. */
  add(intent: Intent): void {
    if (intent.updatedAtMs <= this.#revertedAtMs) return;
    this.#unverified.set(Math.floor(intent.updatedAtMs / 1_000), intent);
  }

  /** Forgets all commits until now: the chain was reverted on purpose. */
  clear(nowMs: number): void {
    this.#revertedAtMs = nowMs;
    this.#unverified.clear();
  }

  /** Looks for the receipts of commits up to `dueMs`. @returns What the node lacks, if anything. */
  async findLost(dueMs: number): Promise<string | undefined> {
    const due = [...this.#unverified].filter(([, { updatedAtMs }]) => updatedAtMs <= dueMs);
    const found = await Promise.all(due.map(async ([second, intent]) => {
      if (!await this.#isStillCommitted(intent)) return intent;
      if (this.#unverified.get(second) === intent) this.#unverified.delete(second);
    }));
    const txHash = found.find((intent) => intent !== undefined)?.transaction?.txHash;
    return txHash && `does not have transaction ${txHash}, which it had committed before`;
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
