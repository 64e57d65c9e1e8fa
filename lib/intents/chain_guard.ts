import type { Clock } from "../clock.ts";
import { RangemakerError } from "../errors.ts";
import type { CoreClient } from "../net/core_client.ts";
import { cached } from "../net/cached.ts";
import type { Hex } from "../protocol/scalars.ts";
import { redactUrls } from "../redact.ts";
import type { IntentStore } from "./store.ts";

/** How long an answer of the node is cached: less than a node needs to start with another chain. */
const CHECKED_MS = 100;

/** Dependencies of a {@link ChainGuard}. */
export interface ChainGuardOptions {
  store: Pick<IntentStore, "bindChain">;
  node: Pick<CoreClient, "url" | "genesisHash">;
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
 * Binds a store to a chain: on its first contact with a node, the store records the hash of the
 * chain's first block. Its used nonces and receipts are invalid on another chain.
 */
export class ChainGuard {
  /**
   * Checks that the node has the chain of the store.
   *
   * @throws {ChainMismatchError} If it has another one.
   * @throws {RangemakerError} If node or store does not answer.
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
