import { getLogger } from "@logtape/logtape";
import type { Clock, RandomSource } from "./clock.ts";
import { NodeTimeoutError, NodeUnreachableError } from "./net/core_client.ts";
import { messageOf, RangemakerError } from "./errors.ts";
import { TIMESTAMP_DRIFT_MAX_MS } from "./protocol/constants.ts";
import { RpcCode, RpcError } from "./protocol/jsonrpc.ts";
import type { Receipt } from "./protocol/receipt.ts";
import type { Hex } from "./protocol/scalars.ts";
import { transactionSchema } from "./protocol/transaction.ts";
import { LOG_ROOT } from "./http/logging.ts";
import {
  type Intent,
  type IntentOutcome,
  type IntentStore,
  isFinal,
  type SignedTransactionText,
  StoreError,
} from "./store/intent.ts";
import { Sweeper } from "./sweeper.ts";

/** The part of a core node that a submitter needs. */
export interface SubmissionNode {
  sendTransactionText(text: string): Promise<Receipt>;
  getTransaction(txHash: Hex): Promise<Receipt | null>;
}

/** What a {@link Submitter} works with. */
export interface SubmitterOptions {
  store: IntentStore;
  node: SubmissionNode;
  clock: Clock;
  random: RandomSource;
  /**
   * Makes the transaction of an intent: called before the first send where the intent was recorded
   * without one, and again where the node has let the old one grow too old unseen. May be called
   * more than once for one intent, so what it does besides signing must be keyed by the intent.
   *
   * @throws {IntentRefusedError} If the intent must not be carried out after all.
   */
  sign(intent: Intent): Promise<SignedTransactionText>;
  /** Told of every attempt that ended without an answer, and of every final state reached here. */
  observe?(event: "retry" | "final", intent: Intent): void;
  /** Told of every final state that an attempt here came to know, be it reached by another process. */
  ended?(intent: Intent): void;
}

/** An intent that must not be carried out: it ends as failed, with this code and message. */
export class IntentRefusedError extends RangemakerError {}

/** Codes of failures that stand on no receipt; those of a receipt are the node's. */
export const SubmissionFailure = {
  /** The deadline passed before the node took the transaction. */
  deadlinePassed: "DEADLINE_PASSED",
  /** The node did not take the transaction for one, and recorded nothing. */
  nodeRefused: "NODE_REFUSED",
} as const;

/** The node may or may not have acted; the submitter keeps asking. */
export class OutcomeUnknownError extends RangemakerError {
  constructor(txHash: Hex | null, cause: unknown) {
    super(
      "OUTCOME_UNKNOWN",
      `Outcome of ${
        txHash === null ? "the request" : `transaction ${txHash}`
      } is unknown, and is being looked into: the same request ` +
        `may be sent again (${messageOf(cause)})`,
      { cause, retryable: true },
    );
  }
}

/** Allowance for clocks that differ when a transaction is taken to be too old for the node. */
const CLOCK_SKEW_MS = 10_000;

/**
 * Answers of the node that no repetition will change. That it does not know the method is none: the URL
 * is that of a read port, by an oversight, and what is recorded waits for it to be mended.
 */
const FINAL_RPC_CODES: ReadonlySet<number> = new Set([
  RpcCode.transactionRejected,
  RpcCode.parseError,
  RpcCode.invalidRequest,
  RpcCode.invalidParams,
]);

/**
 * Brings durable intents to a final state: the transaction is durable before it is first sent, what
 * is sent again is the same bytes, and the receipt is durable before anyone is told of it. Intents
 * that an earlier run, another process or a lost answer left behind are taken up by {@link start}.
 */
export class Submitter {
  readonly #options: SubmitterOptions;
  readonly #sweeper: Sweeper;
  readonly #log = getLogger([LOG_ROOT, "submitter"]);
  readonly #inFlight = new Map<string, Promise<Intent>>();
  #nodeLost = false;

  constructor(options: SubmitterOptions) {
    this.#options = options;
    this.#sweeper = new Sweeper({
      store: options.store,
      clock: options.clock,
      random: options.random,
      submit: (intent) => this.submit(intent),
      nodeLost: () => this.#nodeLost,
    });
  }

  /** Whether the newest attempt ended without an answer of the node. */
  get nodeLost(): boolean {
    return this.#nodeLost;
  }

  /**
   * Tries once to bring an intent to its final state; an attempt at the same intent that is under way
   * is joined.
   *
   * @returns The intent in its final state.
   * @throws {OutcomeUnknownError} If the node gave no answer. Further attempts follow by themselves.
   * @throws {StoreError} If the store failed. Further attempts follow by themselves.
   */
  submit(intent: Intent): Promise<Intent> {
    if (isFinal(intent.state)) return Promise.resolve(intent);
    const running = this.#inFlight.get(intent.key);
    if (running !== undefined) return running;
    const attempt = this.#attempt(intent).finally(() => this.#inFlight.delete(intent.key));
    this.#inFlight.set(intent.key, attempt);
    return attempt;
  }

  /** Takes up all unfinished intents now, and what is left behind from then on. */
  start(): void {
    this.#sweeper.start();
  }

  /** Takes up nothing more by itself; resolves when no attempt is under way. May be called again. */
  async stop(): Promise<void> {
    await this.#sweeper.stop();
    await Promise.allSettled(this.#inFlight.values());
  }

  async #attempt(intent: Intent): Promise<Intent> {
    try {
      const finished = await this.#carryOut(intent);
      this.#options.ended?.(finished);
      return finished;
    } catch (thrown) {
      const txHash = intent.transaction?.txHash ?? null;
      // The intent is durable already, so a store that fails now leaves it to a later attempt.
      if (thrown instanceof StoreError) throw new OutcomeUnknownError(txHash, thrown);
      if (thrown instanceof OutcomeUnknownError) await this.#noteRetry(intent);
      throw thrown;
    }
  }

  async #carryOut(intent: Intent): Promise<Intent> {
    try {
      const signed = intent.transaction === null ? await this.#sign(intent) : intent;
      if (isFinal(signed.state)) return signed;
      if (this.#options.clock.now() > signed.expiresAtMs) return await this.#lookUp(signed);
      return await this.#send(signed);
    } catch (thrown) {
      if (thrown instanceof IntentRefusedError) {
        return await this.#fail(intent, thrown.code, thrown.message);
      }
      throw thrown;
    }
  }

  /** Makes the transaction of an intent and records it, in place of the one it has. */
  async #sign(intent: Intent): Promise<Intent> {
    const { store, clock, sign } = this.#options;
    try {
      const transaction = await sign(intent);
      return await store.setTransaction(intent, transaction, clock.now());
    } catch (thrown) {
      if (!isNodeAway(thrown)) throw thrown;
      throw new OutcomeUnknownError(intent.transaction?.txHash ?? null, thrown);
    }
  }

  /**
   * Sends a transaction. Where the connection broke the answer alone may be lost, so the node is asked
   * what it knows, and sent the same bytes once more, before the outcome is called unknown.
   */
  async #send(intent: Intent): Promise<Intent> {
    try {
      return await this.#sendOnce(intent);
    } catch (thrown) {
      if (!(thrown instanceof OutcomeUnknownError)) throw thrown;
      if (!(thrown.cause instanceof NodeUnreachableError)) throw thrown;
    }
    const receipt = await this.#receiptOf(transactionOf(intent).txHash);
    if (receipt !== null) return await this.#finishBy(intent, receipt);
    return await this.#sendOnce(intent);
  }

  async #sendOnce(intent: Intent): Promise<Intent> {
    const { text, txHash } = transactionOf(intent);
    let refusal: RpcError;
    try {
      return await this.#finishBy(intent, await this.#options.node.sendTransactionText(text));
    } catch (thrown) {
      refusal = this.#refusalIn(thrown, txHash);
    }
    // A refused transaction may be one that was taken earlier and has grown too old to be read again.
    const receipt = await this.#receiptOf(txHash);
    if (receipt !== null) return await this.#finishBy(intent, receipt);
    const ageMs = this.#options.clock.now() - timestampOf(text);
    if (ageMs > TIMESTAMP_DRIFT_MAX_MS - CLOCK_SKEW_MS) {
      // The new one has a fresh timestamp, so this comes round once.
      const renewed = await this.#sign(intent);
      return isFinal(renewed.state) ? renewed : await this.#sendOnce(renewed);
    }
    const reason = `Core node refused the transaction: ${refusal.message}`;
    return await this.#fail(intent, SubmissionFailure.nodeRefused, reason);
  }

  /** After the deadline nothing is sent any more; what was sent may still have been taken. */
  async #lookUp(intent: Intent): Promise<Intent> {
    const { text, txHash } = transactionOf(intent);
    const receipt = await this.#receiptOf(txHash);
    if (receipt !== null) return await this.#finishBy(intent, receipt);
    const tooOldAtMs = timestampOf(text) + TIMESTAMP_DRIFT_MAX_MS + CLOCK_SKEW_MS;
    if (this.#options.clock.now() <= tooOldAtMs) {
      throw new OutcomeUnknownError(txHash, "the deadline passed before the node answered");
    }
    const reason = `Deadline ${intent.expiresAtMs} passed before the core node took it`;
    return await this.#fail(intent, SubmissionFailure.deadlinePassed, reason);
  }

  async #receiptOf(txHash: Hex): Promise<Receipt | null> {
    try {
      const receipt = await this.#options.node.getTransaction(txHash);
      this.#nodeLost = false;
      return receipt;
    } catch (thrown) {
      this.#refusalIn(thrown, txHash);
      throw new OutcomeUnknownError(txHash, thrown);
    }
  }

  /** Sorts what a call threw: a refusal that stands is returned, the rest is thrown. */
  #refusalIn(thrown: unknown, txHash: Hex): RpcError {
    if (isNodeAway(thrown)) {
      this.#nodeLost = true;
      throw new OutcomeUnknownError(txHash, thrown);
    }
    if (!(thrown instanceof RpcError)) throw thrown;
    // A node that has paused, or a proxy whose node is away.
    this.#nodeLost = thrown.rpcCode === RpcCode.resourceUnavailable;
    if (FINAL_RPC_CODES.has(thrown.rpcCode)) return thrown;
    throw new OutcomeUnknownError(txHash, thrown);
  }

  async #finishBy(intent: Intent, receipt: Receipt): Promise<Intent> {
    this.#nodeLost = false;
    return await this.#finish(intent, {
      state: receipt.status,
      receipt: JSON.stringify(receipt),
      failure: receipt.error ?? null,
    });
  }

  #fail(intent: Intent, code: string, message: string): Promise<Intent> {
    return this.#finish(intent, { state: "failed", receipt: null, failure: { code, message } });
  }

  async #finish(intent: Intent, outcome: IntentOutcome): Promise<Intent> {
    const { store, clock, observe } = this.#options;
    const finished = await store.finish(intent, outcome, clock.now());
    if (!isFinal(finished.state)) {
      const txHash = intent.transaction?.txHash ?? null;
      throw new OutcomeUnknownError(txHash, "another process has replaced the transaction");
    }
    observe?.("final", finished);
    return finished;
  }

  async #noteRetry(intent: Intent): Promise<void> {
    const { store, clock, observe } = this.#options;
    observe?.("retry", intent);
    try {
      await store.noteAttempt(intent.key, clock.now());
    } catch (thrown) {
      const { key } = intent;
      this.#log.error("Intent {key} cannot be marked as tried: {error}", { key, error: thrown });
    }
  }
}

function isNodeAway(thrown: unknown): boolean {
  return thrown instanceof NodeUnreachableError || thrown instanceof NodeTimeoutError;
}

function transactionOf(intent: Intent): SignedTransactionText {
  if (intent.transaction !== null) return intent.transaction;
  throw new TypeError(`Intent ${intent.key} has no transaction: it was not signed`);
}

/** When a transaction was signed, Unix milliseconds. */
function timestampOf(text: string): number {
  return transactionSchema.parse(JSON.parse(text)).timestamp;
}
