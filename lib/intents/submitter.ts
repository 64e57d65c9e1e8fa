import { z } from "zod";
import type { Clock } from "../clock.ts";
import { messageOf, RangemakerError } from "../errors.ts";
import { RECEIPTS_KEPT_MIN_MS, TIMESTAMP_DRIFT_MAX_MS } from "../protocol/constants.ts";
import type { RpcError } from "../protocol/jsonrpc.ts";
import type { Receipt } from "../protocol/receipt.ts";
import type { ChainGuard } from "./chain_guard.ts";
import { CLOCK_DIFFERENCE_MAX_MS } from "./clock_comparison.ts";
import {
  IntentRefusedError,
  OutcomeUnknownError,
  rowDamaged,
  StoreDamagedError,
  StoreError,
  submissionFailure,
} from "./errors.ts";
import {
  failureOf,
  type InsertResult,
  type Intent,
  type IntentOutcome,
  isFinal,
  type SignedTransactionText,
} from "./intent.ts";
import type { IntentHandler } from "./intent_handler.ts";
import {
  askForReceipt,
  isConnectionLost,
  isNodeUnusable,
  type NodeAnswer,
  sendOnce,
  simulate,
  type SubmissionNode,
} from "./node_answer.ts";
import type { IntentStore } from "./store.ts";
import { timestampOf, type TransactionBuilder } from "./transactions.ts";

/**
 * A transaction signed longer ago than this, or this far in the future, is signed again: 10 s before
 * the node refuses its timestamp.
 */
const SIGN_AGAIN_AFTER_MS = TIMESTAMP_DRIFT_MAX_MS - 10_000;

/** The node's reason to refuse a transaction because of its timestamp alone. */
const refusedTimestampSchema = z.object({ code: z.literal("TIMESTAMP_OUT_OF_RANGE") });

export interface SubmitterOptions {
  store: IntentStore;
  node: SubmissionNode;
  clock: Clock;
  handler: IntentHandler;
  transactions: Pick<TransactionBuilder, "sign" | "requireOwn">;
  /** Checks that the node has the store's chain; otherwise nothing is sent and no answer counts. */
  guard: Pick<ChainGuard, "requireChain" | "onCommitted" | "clocks">;
}

/**
 * Brings intents to a final state: the transaction is durable before it is first sent, a retry
 * sends the same transaction until the node refuses it for its age, and the receipt is durable
 * before anyone sees it.
 */
export class Submitter {
  readonly #options: SubmitterOptions;
  readonly #inFlight = new Map<string, Promise<Intent>>();
  #isNodeLost = false;
  /** When stopping, an attempt that lost its answer is not repeated: the next start does that. */
  #isStopping = false;

  constructor(options: SubmitterOptions) {
    this.#options = options;
  }

  /** Whether the node left the latest attempt without an answer. */
  get isNodeLost(): boolean {
    return this.#isNodeLost;
  }

  /** Whether this process is carrying out the intent with a key now. */
  isRunning(key: string): boolean {
    return this.#inFlight.has(key);
  }

  /**
   * Tries once to bring an intent to its final state, or joins the attempt that is already running.
   *
   * @returns The intent in its final state.
   * @throws {OutcomeUnknownError} If node or store gave no answer: it is retried automatically.
   */
  submit(intent: Intent): Promise<Intent> {
    return this.#join(intent.key, () => this.#attempt(intent, false));
  }

  /** Like {@link submit}, for an intent that this process has just recorded: it is not verified. */
  submitNew(intent: Intent): Promise<Intent> {
    return this.#join(intent.key, () => this.#attempt(intent, true));
  }

  /**
   * Like {@link submit}, for an intent that `record` finds or creates. A second call with the same
   * key joins the first, `record` included.
   */
  submitOnce(key: string, record: () => Promise<InsertResult>): Promise<Intent> {
    return this.#join(key, async () => {
      const { intent, inserted } = await record();
      return await this.#attempt(intent, inserted);
    });
  }

  #join(key: string, run: () => Promise<Intent>): Promise<Intent> {
    const running = this.#inFlight.get(key);
    if (running !== undefined) return running;
    const attempt = run().finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, attempt);
    return attempt;
  }

  /** Repeats nothing from now on; resolves when no attempt is running. May be called again. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.allSettled(this.#inFlight.values());
  }

  /** Submits an intent again. It writes first: a failover may lose a row that was only read. */
  async retry({ key }: Intent): Promise<Intent> {
    const { store, clock } = this.#options;
    return await this.submit(await store.recordAttempt(key, clock.now()));
  }

  async #attempt(intent: Intent, isNew: boolean): Promise<Intent> {
    if (isFinal(intent.state)) return intent;
    const { guard, handler } = this.#options;
    try {
      const finished = await this.#sendOrLookUp(intent, isNew);
      if (finished.state === "committed") guard.onCommitted(finished);
      handler.onFinished?.(finished);
      return finished;
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      throw await this.#unknownOutcome(intent, thrown);
    }
  }

  /** Records a failed attempt. The intent is durable: a retry finishes it once all parts work again. */
  async #unknownOutcome(intent: Intent, thrown: RangemakerError): Promise<OutcomeUnknownError> {
    const { store, clock, handler } = this.#options;
    const unknown = (cause: unknown) =>
      new OutcomeUnknownError(intent.transaction?.txHash ?? null, cause);
    if (thrown instanceof StoreError) return unknown(thrown);
    handler.onRetry?.(intent);
    try {
      await store.recordAttempt(intent.key, clock.now());
    } catch (cause) {
      return unknown(cause);
    }
    return thrown instanceof OutcomeUnknownError ? thrown : unknown(thrown);
  }

  async #sendOrLookUp(intent: Intent, isNew: boolean): Promise<Intent> {
    await this.#requireChain();
    try {
      if (!isNew) this.#verify(intent);
      const signed = intent.transaction === null ? await this.#sign(intent) : intent;
      if (isFinal(signed.state)) return signed;
      const { node, clock } = this.#options;
      if (clock.now() <= signed.expiresAtMs) return await this.#send(signed);
      // Too late to send it, but an earlier attempt may have been committed.
      return await this.#conclude(signed, await askForReceipt(node, transactionOf(signed)));
    } catch (thrown) {
      if (thrown instanceof IntentRefusedError) return await this.#fail(intent, thrown);
      throw thrown;
    }
  }

  async #requireChain(): Promise<void> {
    try {
      await this.#options.guard.requireChain();
      this.#isNodeLost = false;
    } catch (thrown) {
      this.#isNodeLost = isNodeUnusable(thrown);
      throw thrown;
    }
  }

  /**
   * Checks that the parts of an intent that was read from the store belong together: its key,
   * request, the user's signature and the transaction. If not, it fails and nothing is sent.
   */
  #verify(intent: Intent): void {
    const { store, handler, transactions } = this.#options;
    try {
      const terms = handler.termsOf(intent);
      if (intent.transaction !== null) transactions.requireOwn(terms, intent.transaction);
    } catch (thrown) {
      const { key } = intent;
      const damage = thrown instanceof StoreDamagedError
        ? thrown
        : rowDamaged(key, messageOf(thrown), thrown);
      store.damaged.report(damage);
      const message = `${damage.message}. Nothing was sent`;
      throw new IntentRefusedError(damage.code, message, { details: { key } });
    }
  }

  /** Signs an intent's transaction, and records it in place of an earlier one. */
  async #sign(intent: Intent): Promise<Intent> {
    const { store, clock, handler, transactions } = this.#options;
    await handler.beforeSigning?.(intent);
    const transaction = await transactions.sign(handler.termsOf(intent));
    const signed = await store.setTransaction(intent, transaction, clock.now());
    // Another process was first: its transaction was read from the database, so verify it.
    if (signed.transaction !== transaction) this.#verify(signed);
    return signed;
  }

  /**
   * Sends a transaction. If the connection breaks, perhaps only the answer was lost: asks the node
   * for the receipt, then sends the same transaction once more.
   */
  async #send(intent: Intent): Promise<Intent> {
    const { node } = this.#options;
    const transaction = transactionOf(intent);
    let answer = await sendOnce(node, transaction);
    if (isConnectionLost(answer) && !this.#isStopping) {
      answer = await askForReceipt(node, transaction);
      if (answer.kind === "missing") answer = await sendOnce(node, transaction);
    }
    return await this.#conclude(intent, answer);
  }

  /** Brings an intent to the state that follows from the node's answer about its transaction. */
  async #conclude(intent: Intent, answer: NodeAnswer): Promise<Intent> {
    this.#isNodeLost = answer.kind === "unknown" && isNodeUnusable(answer.cause);
    switch (answer.kind) {
      case "receipt":
        return await this.#finishBy(intent, answer.receipt);
      case "missing":
        return await this.#failIfTooLate(intent);
      case "refused":
        return await this.#signAgainOrFail(intent, answer.error);
      case "unknown":
        throw new OutcomeUnknownError(transactionOf(intent).txHash, answer.cause);
    }
  }

  /** Signs a refused transaction again if its time is the reason; otherwise fails its intent. */
  async #signAgainOrFail(intent: Intent, error: RpcError): Promise<Intent> {
    const { text, txHash } = transactionOf(intent);
    const offMs = Math.abs(this.#options.clock.now() - timestampOf(text));
    if (offMs > SIGN_AGAIN_AFTER_MS) {
      // The new transaction has the present time, so this happens once.
      const renewed = await this.#sign(intent);
      return isFinal(renewed.state) ? renewed : await this.#send(renewed);
    }
    if (refusedTimestampSchema.safeParse(error.data).success) {
      throw new OutcomeUnknownError(
        txHash,
        this.#options.guard.clocks.recordDifference(error.message),
      );
    }
    const { rpcCode, message: reason } = error;
    return await this.#fail(intent, submissionFailure("NODE_REFUSED", { reason, rpcCode }));
  }

  /** Fails an intent whose transaction was not committed by its deadline and cannot be any more. */
  async #failIfTooLate(intent: Intent): Promise<Intent> {
    const { text, txHash } = transactionOf(intent);
    const { node, clock, handler, transactions, guard } = this.#options;
    const agesMs = [clock.now(), guard.clocks.blockTimeMs]
      .map((nowMs) => nowMs - timestampOf(text));
    // By both clocks: one that was set forward proves nothing.
    if (Math.min(...agesMs) <= TIMESTAMP_DRIFT_MAX_MS + CLOCK_DIFFERENCE_MAX_MS) {
      throw new OutcomeUnknownError(txHash, "the deadline passed before the node answered");
    }
    // An earlier transaction may have been committed, which the store has lost.
    const simulated = handler.wasDoneBefore &&
      await simulate(node, await transactions.sign(handler.termsOf(intent)));
    if (simulated && handler.wasDoneBefore?.(simulated)) {
      const failure = simulated.error ?? null;
      return await this.#finish(intent, { state: "committed", receipt: null, failure });
    }
    // By either: ours may have been set back, and the newest block may be older than the node's clock.
    const ageMs = Math.max(...agesMs);
    // One that would be committed now was not before.
    if (ageMs > RECEIPTS_KEPT_MIN_MS && simulated?.status !== "committed") {
      return await this.#fail(intent, submissionFailure("RECEIPT_DROPPED", { txHash, ageMs }));
    }
    const { expiresAtMs: deadline } = intent;
    return await this.#fail(intent, submissionFailure("DEADLINE_PASSED", { deadline }));
  }

  async #finishBy(intent: Intent, receipt: Receipt): Promise<Intent> {
    const { guard, handler } = this.#options;
    guard.clocks.recordAgreement();
    return await this.#finish(intent, {
      state: handler.wasDoneBefore?.(receipt) ? "committed" : receipt.status,
      receipt: JSON.stringify(receipt),
      failure: receipt.error ?? null,
    });
  }

  #fail(intent: Intent, reason: RangemakerError): Promise<Intent> {
    return this.#finish(intent, { state: "failed", receipt: null, failure: failureOf(reason) });
  }

  async #finish(intent: Intent, outcome: IntentOutcome): Promise<Intent> {
    const { store, clock, handler } = this.#options;
    const { intent: finished, wasSetHere } = await store.finish(intent, outcome, clock.now());
    if (!isFinal(finished.state)) {
      const txHash = intent.transaction?.txHash ?? null;
      throw new OutcomeUnknownError(txHash, "another process has replaced the transaction");
    }
    if (wasSetHere) handler.onFinishedByUs?.(finished);
    return finished;
  }
}

function transactionOf(intent: Intent): SignedTransactionText {
  if (intent.transaction !== null) return intent.transaction;
  throw new TypeError(`Intent ${intent.key} has no transaction: it was not signed`);
}
