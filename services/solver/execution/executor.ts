import type { Clock } from "../../../lib/clock.ts";
import type { ChainGuard } from "../../../lib/intents/chain_guard.ts";
import {
  OutcomeUnknownError,
  StoreConnectionLostError,
  StoreDamagedError,
  StoreError,
} from "../../../lib/intents/errors.ts";
import {
  failureOf,
  type InFlight,
  type InsertResult,
  type Intent,
  type IntentState,
  isFinal,
  type NewIntent,
} from "../../../lib/intents/intent.ts";
import type { ReservationTable } from "../../../lib/intents/reservation_table.ts";
import type { IntentStore } from "../../../lib/intents/store.ts";
import type { Submitter } from "../../../lib/intents/submitter.ts";
import { createUserSignatureCheck } from "../../../lib/intents/user_signatures.ts";
import type { ExecuteResult } from "../../../lib/protocol/answers.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import { SignatureError } from "../../../lib/protocol/signature.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import {
  encodeExecution,
  type Execution,
  type ExecutionRequest,
  requireResult,
} from "./execution.ts";
import type { ExecutionPreparation } from "./execution_preparation.ts";
import { solverLog } from "../shared/solver_log.ts";
import { PricingRefusedError } from "../pricing/strategy.ts";
import type { AdmissionFacts, Balances, ExposureLimit } from "../risk/exposure_limit.ts";
import type { PreTradeChecks } from "../risk/pre_trade_checks.ts";
import type { QuoteSigner } from "../quoting/quote_signer.ts";

export interface ExecutorOptions {
  store: Pick<IntentStore, "findState" | "get" | "insertFailed" | "recordAttempt">;
  reservations: Pick<ReservationTable, "insert">;
  submitter: Pick<Submitter, "submitOnce">;
  guard: Pick<ChainGuard, "requireChain">;
  preparation: Pick<ExecutionPreparation, "onRecorded">;
  checks: Pick<PreTradeChecks, "requirePlaceable" | "requirePrice" | "requireTimeLeft">;
  exposureLimit: Pick<ExposureLimit, "createAdmission" | "book">;
  /** Releases reservations of theses that have settled. @returns How many. */
  releaseSettled(): Promise<number>;
  quoteSigner: Pick<QuoteSigner, "address" | "requireOwn">;
  chainId: number;
  clock: Clock;
}

/** Executes quotes that the user has signed, each once: the quote hash is the key of its intent. */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #checkSignature: ReturnType<typeof createUserSignatureCheck>;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#checkSignature = createUserSignatureCheck(options.chainId, options.clock);
  }

  /**
   * Submits the thesis of a quote, or returns the result that the same quote had before.
   *
   * @throws {SignatureError} If the quote is not this solver's or not signed by its user.
   * @throws {RangemakerError} If a limit or check fails. With `usedUp` in its details, the quote
   *   never becomes a bet; otherwise nothing is recorded.
   * @throws {OutcomeUnknownError} If the node has not answered yet.
   */
  async execute(request: ExecutionRequest): Promise<ExecuteResult> {
    const { store, submitter, exposureLimit, quoteSigner, chainId } = this.#options;
    const { userSignature } = request;
    const quote = { ...request.quote, solver: request.quote.solver ?? quoteSigner.address };
    const execution = { quote, userSignature };
    const quoteHash = hashQuote(quote, chainId);
    quoteSigner.requireOwn(quoteHash, quote.signature);
    this.#requireUserSignature(execution);
    // A restored store may not know a bet that was made: it would refuse it. One that knows the bet
    // also knows whether a restored chain has lost it.
    const thesis = exposureLimit.book.thesisOf(quoteHash);
    if (thesis !== undefined && (await store.findState(quoteHash)).state === undefined) {
      return { txHash: thesis.txHash, status: "committed", thesisId: thesis.id };
    }
    const record = () => this.#findOrRecord(quoteHash, execution);
    return requireResult(await submitter.submitOnce(quoteHash, record));
  }

  /**
   * Requires the user's signature, and a user who is not the solver itself: anybody may ask for such
   * a quote, the solver's signature would count as the user's too, and the bet would lock its money
   * on both sides. After the deadline, the error is that of the deadline (spec: quote solver,
   * "POST /execute").
   */
  #requireUserSignature({ quote, userSignature }: Execution): void {
    const { quoteSigner } = this.#options;
    const hashFor = (id: number) => hashQuote(quote, id);
    try {
      this.#checkSignature("User signature", hashFor, userSignature, quote.user);
      if (quote.user === quoteSigner.address) throw ownQuote(quote.user);
    } catch (thrown) {
      this.#options.checks.requireTimeLeft(quote, 0);
      throw thrown;
    }
  }

  async #findOrRecord(quoteHash: Hex, execution: Execution): Promise<InsertResult> {
    // Before the balances, so that a bet committed in between shows in one of the two at least.
    const { state, inFlight } = await this.#options.store.findState(quoteHash);
    if (state === undefined) return await this.#record(quoteHash, execution, inFlight);
    return { intent: await this.#readRecorded(quoteHash, state), inserted: false };
  }

  /** @throws {OutcomeUnknownError} If the store fails: it is recorded, though it cannot be read. */
  async #readRecorded(quoteHash: Hex, state: IntentState): Promise<Intent> {
    const { store, clock } = this.#options;
    try {
      if (isFinal(state)) return await store.get(quoteHash);
      // A failover may lose a row that was only read. Writing the attempt proves that it stays.
      return await store.recordAttempt(quoteHash, clock.now());
    } catch (thrown) {
      if (!(thrown instanceof StoreError) || thrown instanceof StoreDamagedError) throw thrown;
      throw new OutcomeUnknownError(null, thrown);
    }
  }

  /**
   * Checks an execution and makes it durable. A refusal for its price is recorded, too: otherwise
   * an earlier request that arrives late could place the bet. Any other failure leaves no trace, and
   * so does one before the balances are known: callers without money must not fill the database.
   */
  async #record(
    quoteHash: Hex,
    execution: Execution,
    inFlightBefore: InFlight,
  ): Promise<InsertResult> {
    const { preparation, checks, store, guard } = this.#options;
    const { quote } = execution;
    await guard.requireChain();
    let balances: Balances | undefined;
    try {
      balances = await checks.requirePlaceable(quote);
      // Executions that arrive together are priced one after the other, as they are reserved.
      const facts = { balances, inFlightBefore, requirePrice: () => checks.requirePrice(quote) };
      const insertion = await this.#insert(quoteHash, execution, facts);
      // Otherwise another process has accepted the quote.
      if (insertion.inserted) {
        preparation.onRecorded(insertion.intent, execution);
        solverLog.accepted(quoteHash, quote);
      }
      return insertion;
    } catch (thrown) {
      // Otherwise it may be recorded.
      if (thrown instanceof RangemakerError && !(thrown instanceof StoreConnectionLostError)) {
        solverLog.refused(quoteHash, quote, thrown);
      }
      const isForPrice = balances !== undefined && thrown instanceof PricingRefusedError;
      if (!isForPrice || thrown.retry === "later") throw thrown;
      const refused = this.#intentOf(quoteHash, execution);
      const intent = await store.insertFailed(refused, failureOf(thrown));
      return { inserted: false, intent };
    }
  }

  async #insert(
    quoteHash: Hex,
    execution: Execution,
    facts: AdmissionFacts,
  ): Promise<InsertResult> {
    const { reservations, exposureLimit, releaseSettled } = this.#options;
    const admission = exposureLimit.createAdmission(quoteHash, execution.quote, facts);
    const insert = () => reservations.insert(this.#intentOf(quoteHash, execution), admission);
    try {
      return await insert();
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError) || thrown.code !== "EXPOSURE_TOO_LARGE") {
        throw thrown;
      }
      // Theses that settled while this solver was down count until they are released.
      const released = await releaseSettled().catch((cause: unknown) => {
        if (cause instanceof RangemakerError) return 0; // the node does not answer: it stays refused
        throw cause;
      });
      if (released === 0) throw thrown;
      return await insert();
    }
  }

  #intentOf(quoteHash: Hex, execution: Execution): NewIntent {
    const { user, deadline } = execution.quote;
    return {
      key: quoteHash,
      user,
      payload: encodeExecution(execution),
      transaction: null,
      expiresAtMs: deadline,
      createdAtMs: this.#options.clock.now(),
    };
  }
}

function ownQuote(user: Address): SignatureError {
  return new SignatureError(
    `User signature is that of the solver itself: a bet of ${user} needs another solver`,
    { user },
  );
}
