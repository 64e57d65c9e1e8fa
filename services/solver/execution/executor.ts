import type { Clock } from "../../../lib/clock.ts";
import {
  type Intent,
  isFinal,
  OutcomeUnknownError,
  type SignedTransactionText,
} from "../../../lib/intents/intent.ts";
import type { IntentStore } from "../../../lib/intents/store.ts";
import { IntentRefusedError, type Submitter } from "../../../lib/intents/submitter.ts";
import type { ExecuteResult } from "../../../lib/protocol/answers.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import { hash32Schema, type Hex } from "../../../lib/protocol/scalars.ts";
import { requireSigner, type Signer } from "../../../lib/protocol/signature.ts";
import { betTermsOf } from "../../../lib/protocol/terms.ts";
import { signTransaction, transactionToText } from "../../../lib/protocol/transaction.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import {
  decodeExecution,
  encodeExecution,
  type Execution,
  type ExecutionRequest,
  resultOf,
} from "./execution.ts";
import { type ExposureBook, riskOf } from "../risk/exposure_book.ts";
import type { Hedge } from "./hedge.ts";
import type { PreTradeChecks } from "../risk/pre_trade_checks.ts";
import type { QuoteSigner } from "../quoting/quote_signer.ts";

/** What an {@link Executor} works with. */
export interface ExecutorOptions {
  store: IntentStore;
  submitter: Pick<Submitter, "submit">;
  checks: PreTradeChecks;
  exposure: ExposureBook;
  hedge: Hedge;
  /** Knows the signatures of quotes. */
  quoteSigner: Pick<QuoteSigner, "require">;
  /** Signs transactions. */
  signer: Signer;
  chainId: number;
  clock: Clock;
  /** Nothing is executed at all. */
  dryRun: boolean;
}

/** Unfinished executions that are read at once at the start. */
const RESTORE_PAGE = 500;

/** Carries out quotes that the user has signed, each once; the quote hash is what makes it one. */
export class Executor {
  readonly #options: ExecutorOptions;
  /** Executions under way by their quote hash: the same quote again waits for the same result. */
  readonly #running = new Map<string, Promise<Intent>>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** @throws {RangemakerError} `DRY_RUN` in dry-run mode. */
  requireLive(): void {
    if (!this.#options.dryRun) return;
    throw new RangemakerError("DRY_RUN", "Execution is not available in dry-run mode");
  }

  /**
   * Submits the thesis of a quote, or gives the result that the same quote had before.
   *
   * @throws {SignatureError} If the quote is not this solver's or not signed by its user.
   * @throws {RangemakerError} If a limit or check fails; nothing is recorded.
   * @throws {OutcomeUnknownError} If the node gave no answer yet.
   */
  async execute(request: ExecutionRequest): Promise<ExecuteResult> {
    this.requireLive();
    const { quoteSigner, signer, chainId } = this.#options;
    const { userSignature } = request;
    const quote = { ...request.quote, solver: request.quote.solver ?? signer.address };
    const execution = { quote, userSignature };
    const quoteHash = hashQuote(quote, chainId);
    quoteSigner.require(quoteHash, quote.signature);
    requireSigner("User signature", quoteHash, userSignature, quote.user);
    let running = this.#running.get(quoteHash);
    if (running === undefined) {
      running = this.#carryOut(quoteHash, execution).finally(() => this.#running.delete(quoteHash));
      this.#running.set(quoteHash, running);
    }
    return resultOf(await running);
  }

  async #carryOut(quoteHash: Hex, execution: Execution): Promise<Intent> {
    const { store, submitter } = this.#options;
    const intent = await store.find(quoteHash) ?? await this.#record(quoteHash, execution);
    const finished = await submitter.submit(intent);
    this.ended(finished);
    return finished;
  }

  /** Admits an execution and makes it durable. */
  async #record(quoteHash: Hex, execution: Execution): Promise<Intent> {
    const { store, exposure, clock } = this.#options;
    const { quote } = execution;
    await this.#admit(quoteHash, execution);
    const { intent } = await store.insert({
      key: quoteHash,
      subject: quote.user,
      payload: encodeExecution(execution),
      transaction: null,
      expiresAtMs: quote.deadline,
      createdAtMs: clock.now(),
    }).catch((thrown) => {
      exposure.release(quoteHash);
      throw thrown;
    });
    return intent;
  }

  /** Puts the risk aside, then makes the last checks; gives it back where one fails. */
  async #admit(quoteHash: string, { quote }: Execution): Promise<void> {
    const { exposure, checks } = this.#options;
    exposure.reserve(quoteHash, riskOf(quote));
    try {
      await checks.require(quote);
    } catch (thrown) {
      exposure.release(quoteHash);
      throw thrown;
    }
  }

  /** Puts aside what earlier runs left unfinished: it may be on the chain already. */
  async restore(): Promise<void> {
    const { store, exposure } = this.#options;
    let after = 0;
    let page: Intent[];
    do {
      page = await store.listUnfinished({
        limit: RESTORE_PAGE,
        after,
        // Whatever their time says: the clock that wrote it may have been ahead.
        updatedAtMostMs: Number.MAX_SAFE_INTEGER,
      });
      for (const { key, payload } of page) {
        exposure.hold(key, riskOf(decodeExecution(payload).quote));
      }
      after = page.at(-1)?.sequence ?? after;
    } while (page.length === RESTORE_PAGE);
  }

  /** Tells the exposure how an execution ended. */
  ended({ key, state }: Intent): void {
    const { exposure } = this.#options;
    if (state === "committed") exposure.committed(key);
    else if (isFinal(state)) exposure.release(key);
  }

  /**
   * Hedges a recorded execution and signs its transaction.
   *
   * @throws {IntentRefusedError} If the quote is good no more: its deadline, its risk, its price.
   * @throws {OutcomeUnknownError} If it cannot be carried out now, for want of room or of a price.
   */
  async prepare(intent: Intent): Promise<SignedTransactionText> {
    const { hedge, checks, exposure, signer, chainId, clock } = this.#options;
    const { quote, userSignature } = decodeExecution(intent.payload);
    // Put aside already, but for an execution that another one of the same quote gave back.
    refusing(() => exposure.reserve(intent.key, riskOf(quote)));
    refusing(() => checks.requireStillGood(quote));
    await hedge.cover(hash32Schema.parse(intent.key), quote);
    refusing(() => checks.requireTimeLeft(quote, 0));
    const { tx, txHash } = signTransaction(
      {
        type: "RfqSubmit" as const,
        timestamp: clock.now(),
        from: signer.address,
        user: quote.user,
        ...betTermsOf(quote),
        payout: quote.payout,
        deadline: quote.deadline,
        solverSignature: quote.signature,
        userSignature,
      },
      signer,
      chainId,
    );
    return { txHash, text: transactionToText(tx) };
  }
}

/**
 * Runs a check of a recorded execution: what time does not help ends the execution for good, the rest
 * is tried again until the deadline.
 */
function refusing(check: () => void): void {
  try {
    check();
  } catch (thrown) {
    if (!(thrown instanceof RangemakerError)) throw thrown;
    if (thrown.retryable) throw new OutcomeUnknownError(null, thrown);
    throw new IntentRefusedError(thrown.code, thrown.message, { cause: thrown });
  }
}
