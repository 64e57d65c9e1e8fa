import { type Clock, waitMs } from "../../../lib/clock.ts";
import {
  type InFlight,
  type Insertion,
  type Intent,
  isFinal,
  OutcomeUnknownError,
} from "../../../lib/intents/intent.ts";
import type { IntentService } from "../../../lib/intents/intent_service.ts";
import type { TransactionTerms } from "../../../lib/intents/submission.ts";
import { IntentRefusedError } from "../../../lib/intents/failures.ts";
import type { ExecuteResult } from "../../../lib/protocol/answers.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import type { Quote } from "../../../lib/protocol/quote.ts";
import { hash32Schema, type Hex } from "../../../lib/protocol/scalars.ts";
import {
  type LocalSigner,
  requireSignerForChain,
  SignatureError,
} from "../../../lib/protocol/signature.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { NewestMap } from "../../../lib/newest_map.ts";
import {
  encodeExecution,
  type Execution,
  type ExecutionRequest,
  resultOf,
  transactionTermsOf,
  verifiedExecution,
} from "./execution.ts";
import { executionLog } from "../execution_log.ts";
import type { ExposureBook } from "../risk/exposure_book.ts";
import type { AdmissionFacts, ExposureLimit } from "../risk/exposure_limit.ts";
import type { Hedge } from "./hedge.ts";
import type { PreTradeChecks } from "../risk/pre_trade_checks.ts";
import type { QuoteSigner } from "../quoting/quote_signer.ts";

export interface ExecutorOptions {
  intents: Pick<IntentService, "store" | "submit" | "requireChain">;
  checks: PreTradeChecks;
  exposure: ExposureBook;
  limit: Pick<ExposureLimit, "admission" | "report">;
  /** Releases reservations of theses that have settled. @returns How many. */
  releaseSettled(): Promise<number>;
  hedge: Hedge;
  quoteSigner: Pick<QuoteSigner, "require" | "probabilityOf">;
  signer: Pick<LocalSigner, "address">;
  chainId: number;
  clock: Clock;
  /** Reports each recheck of a recorded execution: the code of a refusal, or `passed`. */
  onRecheck?(after: "hold" | "hedge", outcome: string): void;
  dryRun: boolean;
}

/** Hedges that are remembered: far more than there are executions under way. */
const HEDGES_MAX = 10_000;

/** Executes quotes that the user has signed, each once: the quote hash is the key of its intent. */
export class Executor {
  readonly #options: ExecutorOptions;
  /** Executions under way by their quote hash: the same quote again waits for the same result. */
  readonly #running = new Map<string, Promise<Intent>>();
  /** Verified executions by intent, so that each is parsed and verified once. */
  readonly #verified = new WeakMap<Intent, Execution>();
  /** By quote hash: whether a hedge that was asked for is not yet reported as unused. */
  readonly #hedges = new NewestMap<string, boolean>(HEDGES_MAX);
  readonly #startedAtMs: number;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#startedAtMs = options.clock.now();
  }

  /** @throws {RangemakerError} `DRY_RUN` in dry-run mode. */
  requireLive(): void {
    if (!this.#options.dryRun) return;
    throw new RangemakerError(
      "DRY_RUN",
      "Execution is not available in dry-run mode: start the solver without --dry-run",
    );
  }

  /**
   * Submits the thesis of a quote, or returns the result that the same quote had before.
   *
   * @throws {SignatureError} If the quote is not this solver's or not signed by its user.
   * @throws {RangemakerError} If a limit or check fails; nothing is recorded.
   * @throws {OutcomeUnknownError} If the node has not answered yet.
   */
  async execute(request: ExecutionRequest): Promise<ExecuteResult> {
    this.requireLive();
    const { quoteSigner, signer, chainId } = this.#options;
    const { userSignature } = request;
    const quote = { ...request.quote, solver: request.quote.solver ?? signer.address };
    const execution = { quote, userSignature };
    const quoteHash = hashQuote(quote, chainId);
    quoteSigner.require(quoteHash, quote.signature);
    this.#requireUserSignature(execution);
    let running = this.#running.get(quoteHash);
    if (running === undefined) {
      running = this.#runOnce(quoteHash, execution).finally(() => this.#running.delete(quoteHash));
      this.#running.set(quoteHash, running);
    }
    return resultOf(await running);
  }

  /** A late quote fails by its deadline, even if the user's signature is wrong too (spec: "POST /execute"). */
  #requireUserSignature({ quote, userSignature }: Execution): void {
    const { chainId } = this.#options;
    const hashFor = (chainId: number) => hashQuote(quote, chainId);
    try {
      requireSignerForChain(chainId, "User signature", hashFor, userSignature, quote.user);
    } catch (thrown) {
      if (thrown instanceof SignatureError) this.#options.checks.requireTimeLeft(quote, 0);
      throw thrown;
    }
  }

  async #runOnce(quoteHash: Hex, execution: Execution): Promise<Intent> {
    const { intents, clock } = this.#options;
    const { store } = intents;
    // Read before the balances, so that a bet committed in between shows in at least one of the
    // two.
    const { state, inFlight } = await store.lookUp(quoteHash);
    let intent: Intent;
    if (state === undefined) intent = await this.#record(quoteHash, execution, inFlight);
    else if (isFinal(state)) intent = await store.get(quoteHash);
    // A row that was only read may be lost in a failover. The write proves that the primary has it.
    else intent = await store.recordAttempt(quoteHash, clock.now());
    // An intent that this process has recorded need not be verified.
    return await intents.submit(intent, { isNew: this.#verified.has(intent) });
  }

  /** Checks an execution and makes it durable. A failure here leaves no trace. */
  async #record(quoteHash: Hex, execution: Execution, inFlightBefore: InFlight): Promise<Intent> {
    const { checks, limit, intents } = this.#options;
    const { quote } = execution;
    await intents.requireChain();
    try {
      const facts = { balances: await checks.checkAndReadBalances(quote), inFlightBefore };
      const { intent, inserted } = await this.#insert(quoteHash, execution, facts);
      // Otherwise another process has accepted the quote.
      if (inserted) {
        this.#verified.set(intent, execution);
        executionLog.accepted(quoteHash, quote);
      }
      return intent;
    } catch (thrown) {
      if (thrown instanceof RangemakerError) executionLog.refused(quoteHash, quote, thrown);
      throw thrown;
    } finally {
      await limit.report();
    }
  }

  async #insert(quoteHash: Hex, execution: Execution, facts: AdmissionFacts): Promise<Insertion> {
    const { intents, limit, releaseSettled, quoteSigner, clock } = this.#options;
    const { quote } = execution;
    const admission = limit.admission(quoteHash, quote, facts);
    const insert = () =>
      intents.store.insert({
        key: quoteHash,
        subject: quote.user,
        payload: encodeExecution(execution, quoteSigner.probabilityOf(quoteHash)),
        transaction: null,
        expiresAtMs: quote.deadline,
        createdAtMs: clock.now(),
      }, { reserves: true, admission });
    try {
      return await insert();
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError) || thrown.code !== "EXPOSURE_TOO_LARGE") {
        throw thrown;
      }
      // Theses that settled while this solver was down count until they are released.
      if (await releaseSettled().catch(() => 0) === 0) throw thrown;
      return await insert();
    }
  }

  /**
   * Prepares a recorded execution for its transaction: waits until this solver has seen all prices
   * that the user may have seen, then rechecks and hedges.
   *
   * @throws {IntentRefusedError} If the quote is no longer acceptable: its deadline, risk or price.
   * @throws {OutcomeUnknownError} If the hedge failed, but may succeed later.
   */
  async prepare(intent: Intent): Promise<void> {
    const { checks, exposure, clock } = this.#options;
    const { quote } = this.#executionOf(intent);
    // Another process may have recorded the execution.
    exposure.reserve(intent.key, quote);
    const holdMs = checks.holdMs(quote);
    // Clocks of other processes may differ.
    const leftMs = Math.min(holdMs, intent.createdAtMs + holdMs - clock.now());
    if (leftMs > 0) await waitMs(clock, leftMs);
    await finalUnlessRetryable(() => this.#hedgeBetweenChecks(intent, quote));
  }

  /** Rechecks before and after the hedge, since a new price may have arrived. */
  async #hedgeBetweenChecks({ key }: Intent, quote: Quote): Promise<void> {
    this.#recheck(quote, "hold");
    this.#hedges.set(key, true); // an answer that is lost may have been a hedge
    try {
      await this.#options.hedge.cover(hash32Schema.parse(key), quote);
    } catch (thrown) {
      if (thrown instanceof RangemakerError && !thrown.retryable) this.#hedges.set(key, false);
      throw thrown;
    }
    executionLog.hedged(key, quote);
    try {
      this.#recheck(quote, "hedge");
    } catch (thrown) {
      const isRefused = thrown instanceof RangemakerError && !thrown.retryable;
      if (isRefused) this.#reportUnused(key, quote);
      throw thrown;
    }
  }

  /**
   * Reports the hedge of an execution that has failed, if there may be one: it was asked for by this
   * process or, as far as is known, by one before it.
   */
  onFailed({ key, transaction, createdAtMs }: Intent, quote: Quote): void {
    const isOpen = this.#hedges.get(key) ??
      (transaction !== null || createdAtMs < this.#startedAtMs);
    if (isOpen) this.#reportUnused(key, quote);
  }

  #reportUnused(key: string, quote: Quote): void {
    this.#hedges.set(key, false);
    executionLog.hedgeUnused(key, quote);
  }

  #recheck(quote: Quote, after: "hold" | "hedge"): void {
    const { checks, onRecheck } = this.#options;
    let outcome = "passed";
    try {
      checks.recheck(quote, { isHedged: after === "hedge" });
    } catch (thrown) {
      outcome = thrown instanceof RangemakerError ? thrown.code : "INTERNAL_ERROR";
      throw thrown;
    } finally {
      onRecheck?.(after, outcome);
    }
  }

  /**
   * The terms of a recorded execution's transaction.
   *
   * @throws {RangemakerError} If key, quote and the signatures of solver and user do not belong
   *   together.
   */
  termsOf(intent: Intent): TransactionTerms {
    return transactionTermsOf(this.#executionOf(intent));
  }

  #executionOf(intent: Intent): Execution {
    let execution = this.#verified.get(intent);
    if (execution === undefined) {
      const { quoteSigner, chainId } = this.#options;
      execution = verifiedExecution(intent, quoteSigner, chainId);
      this.#verified.set(intent, execution);
    }
    return execution;
  }
}

/** Runs steps of a recorded execution: a failure is final unless it is retryable. */
async function finalUnlessRetryable(steps: () => Promise<void>): Promise<void> {
  try {
    await steps();
  } catch (thrown) {
    if (!(thrown instanceof RangemakerError)) throw thrown;
    if (thrown.retryable) throw new OutcomeUnknownError(null, thrown);
    const { code, message, details } = thrown;
    throw new IntentRefusedError(code, message, { cause: thrown, details });
  }
}
