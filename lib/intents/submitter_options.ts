import type { Logger } from "@logtape/logtape";
import type { Clock, RandomSource } from "../clock.ts";
import type { CoreClient } from "../net/core_client.ts";
import type { ChainGuard } from "./chain_guard.ts";
import type { Intent } from "./intent.ts";
import type { TransactionSigner, TransactionTerms } from "./signed_transaction.ts";
import type { IntentStore } from "./store.ts";

/** Every node keeps receipts this long. */
export const RECEIPTS_KEPT_MS_MIN = 600_000;

/** The part of a core node that a submitter needs. */
export type SubmissionNode = Pick<
  CoreClient,
  "url" | "sendTransactionText" | "getTransaction" | "getHead"
>;

/** What differs between the services that submit intents. */
export interface IntentWork {
  /**
   * The transaction that an intent asks for.
   *
   * @throws If its key, its request and the user's signature do not belong together; an
   * `IntentRefusedError` if they do, but the intent must not be submitted.
   */
  termsOf(intent: Intent): TransactionTerms;
  /**
   * Runs before the transaction of an intent is signed, such as a hedge. It may run several times for one
   * intent, so it must be idempotent.
   *
   * @throws {IntentRefusedError} If the intent must not be submitted after all.
   */
  beforeSigning?(intent: Intent): Promise<void>;
  /** Whether the chain has what a committed intent says, although the node has no receipt of it. */
  isOnChain(intent: Intent): Promise<boolean>;
  /** Called after each attempt that got no answer, and after each final state that this process set. */
  observe?(event: "retry" | "final", intent: Intent): void;
  /** Called with each final state that an attempt found or set: another process may have set it. */
  ended?(intent: Intent): void;
}

export interface SubmitterOptions {
  store: IntentStore;
  node: SubmissionNode;
  clock: Clock;
  random: RandomSource;
  log: Logger;
  work: Omit<IntentWork, "isOnChain">;
  transactions: Pick<TransactionSigner, "sign" | "require">;
  /**
   * Unless the node has the chain that the store belongs to, nothing is sent, and nothing that the node
   * says is believed. Absent: there is only one chain.
   */
  guard?: Pick<ChainGuard, "require" | "committed">;
  /**
   * How long the node is expected to keep receipts, at least {@link RECEIPTS_KEPT_MS_MIN}: later, a node
   * that has none does not prove that it never took the transaction.
   */
  receiptsKeptMs: number;
}
