import type { Clock } from "../clock.ts";
import { RangemakerError } from "../errors.ts";
import { cached } from "../net/cached.ts";
import type { Hex } from "../protocol/scalars.ts";
import { redactUrls } from "../redact.ts";
import type { IntentStore } from "./store.ts";

/** How long an answer of the node counts: shorter than a node takes to start with another chain. */
const CHECKED_MS = 100;

/** What a {@link ChainGuard} works with. */
export interface ChainGuardOptions {
  store: Pick<IntentStore, "bindChain">;
  node: {
    readonly url: string;
    /** Hash of the first block; null if the node does not tell. */
    genesisHash(): Promise<Hex | null>;
  };
  clock: Clock;
}

/** The node has another chain than the one that the store belongs to. */
export class ChainMismatchError extends RangemakerError {
  constructor(url: string, actual: Hex | null, expected: Hex) {
    const has = actual === null
      ? "does not tell its first block"
      : `has the chain that begins with ${actual}`;
    super(
      "CHAIN_MISMATCH",
      `Core node at ${redactUrls(url)} ${has}, but the database belongs to the chain that begins ` +
        `with ${expected}, so nothing is submitted: set --rpc-url to a node of that chain, or ` +
        "--database to a new database",
      { retryable: true },
    );
  }
}

/**
 * Keeps a store and a chain together: the store learns the hash of the chain's first block when it
 * first meets a node. On another chain its used nonces and receipts mean nothing.
 */
export class ChainGuard {
  /**
   * Checks that the node has the chain of the store.
   *
   * @throws {ChainMismatchError} If it has another one.
   * @throws {RangemakerError} If node or store cannot be asked.
   */
  readonly require: () => Promise<void>;
  readonly #options: ChainGuardOptions;
  #expected: Hex | null = null;

  constructor(options: ChainGuardOptions) {
    this.#options = options;
    this.require = cached(() => this.#check(), CHECKED_MS, options.clock);
  }

  async #check(): Promise<void> {
    const { store, node } = this.#options;
    const actual = await node.genesisHash();
    this.#expected ??= await store.bindChain(actual);
    if (this.#expected !== null && this.#expected !== actual) {
      throw new ChainMismatchError(node.url, actual, this.#expected);
    }
  }
}
