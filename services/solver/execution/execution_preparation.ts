import { type Clock, waitMs } from "../../../lib/clock.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { IntentRefusedError, OutcomeUnknownError } from "../../../lib/intents/errors.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import type { TransactionTerms } from "../../../lib/intents/transactions.ts";
import { NewestMap } from "../../../lib/newest_map.ts";
import type { Quote } from "../../../lib/protocol/quote.ts";
import { hash32Schema } from "../../../lib/protocol/scalars.ts";
import { solverLog } from "../shared/solver_log.ts";
import type { QuoteSigner } from "../quoting/quote_signer.ts";
import type { ExposureBook } from "../risk/exposure_book.ts";
import type { PreTradeChecks } from "../risk/pre_trade_checks.ts";
import { type Execution, requireExecution, transactionTermsOf } from "./execution.ts";
import type { Hedge } from "./hedge.ts";

export interface ExecutionPreparationOptions {
  checks: Pick<PreTradeChecks, "holdMs" | "recheck">;
  exposure: ExposureBook;
  hedge: Hedge;
  quoteSigner: Pick<QuoteSigner, "requireOwn">;
  chainId: number;
  clock: Clock;
}

/** Hedges that are remembered: far more than there are executions under way. */
const HEDGES_MAX = 10_000;

/** What a recorded execution needs before it is sent: verification, wait, rechecks and hedge. */
export class ExecutionPreparation {
  readonly #options: ExecutionPreparationOptions;
  /** Verified executions by intent, so that each is parsed and verified once. */
  readonly #verified = new WeakMap<Intent, Execution>();
  /**
   * By quote hash. `none`: there is nothing to undo. `possible`: there may be a hedge that is not yet
   * reported as unused. Absent: another process has recorded the execution, and may have hedged it.
   */
  readonly #hedges = new NewestMap<string, "none" | "possible">(HEDGES_MAX);

  constructor(options: ExecutionPreparationOptions) {
    this.#options = options;
  }

  /** This process has verified an execution, and recorded it as this intent. */
  onRecorded(intent: Intent, execution: Execution): void {
    this.#verified.set(intent, execution);
    this.#hedges.set(intent.key, "none");
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
    await finalUnlessTemporary(async () => {
      // After the deadline it is refused, even if the strategy fails.
      const holdMs = clock.now() > quote.deadline ? 0 : checks.holdMs(quote);
      // Clocks of other processes may differ.
      const leftMs = Math.min(holdMs, intent.createdAtMs + holdMs - clock.now());
      if (leftMs > 0) await waitMs(clock, leftMs);
      await this.#hedgeBetweenChecks(intent, quote);
    });
  }

  /** Rechecks before and after the hedge, since a new price may have arrived. */
  async #hedgeBetweenChecks({ key }: Intent, quote: Quote): Promise<void> {
    const { checks, hedge } = this.#options;
    checks.recheck(quote, { isHedged: false });
    this.#hedges.set(key, "possible"); // an answer that is lost may have been a hedge
    try {
      await hedge.cover(hash32Schema.parse(key), quote);
    } catch (thrown) {
      if (isFinalFailure(thrown)) this.#hedges.set(key, "none");
      throw thrown;
    }
    solverLog.hedged(key, quote);
    // If it fails here, the hedge is reported once the failure is recorded.
    checks.recheck(quote, { isHedged: true });
  }

  /**
   * Reports the hedge of an execution that this process has failed, if there may be one: this
   * process has asked for it, or another one has recorded the execution and may have died since.
   */
  onFailed(intent: Intent, quote: Quote): void {
    const { key } = intent;
    if (isBetOnChain(intent)) this.#hedges.set(key, "none");
    if (this.#hedges.get(key) !== "none") this.#reportUnused(key, quote);
  }

  /** Reports the hedge of this process for an execution that another process has failed. */
  onFailedElsewhere(intent: Intent, quote: Quote): void {
    if (this.#hedges.get(intent.key) === "possible" && !isBetOnChain(intent)) {
      this.#reportUnused(intent.key, quote);
    }
  }

  #reportUnused(key: string, quote: Quote): void {
    const { hedge, exposure } = this.#options;
    this.#hedges.set(key, "none");
    // The chain may have its bet all the same: the node may have dropped the receipt.
    const isBet = exposure.thesisOf(key) !== undefined;
    if (!hedge.isSimulated && !isBet) solverLog.hedgeUnused(key, quote);
  }

  /**
   * The terms of a recorded execution's transaction.
   *
   * @throws {RangemakerError} If key, quote and both signatures do not belong together.
   */
  termsOf(intent: Intent): TransactionTerms {
    return transactionTermsOf(this.#executionOf(intent));
  }

  #executionOf(intent: Intent): Execution {
    let execution = this.#verified.get(intent);
    if (execution === undefined) {
      const { quoteSigner, chainId } = this.#options;
      execution = requireExecution(intent, quoteSigner, chainId);
      this.#verified.set(intent, execution);
    }
    return execution;
  }
}

/**
 * Whether an execution has failed because the chain has its bet: another transaction has placed it,
 * of a solver with another database or an older copy of this one. The bet needs its hedge.
 */
function isBetOnChain({ failure }: Intent): boolean {
  return failure?.code === "QUOTE_ALREADY_USED";
}

/** Whether a failure ends an execution: no later attempt can succeed. */
function isFinalFailure(thrown: unknown): thrown is RangemakerError {
  return thrown instanceof RangemakerError && thrown.retry !== "later";
}

/** Runs steps of a recorded execution: a failure is final unless a later attempt may succeed. */
async function finalUnlessTemporary(steps: () => Promise<void>): Promise<void> {
  try {
    await steps();
  } catch (thrown) {
    if (!(thrown instanceof RangemakerError)) throw thrown;
    if (!isFinalFailure(thrown)) throw new OutcomeUnknownError(null, thrown);
    const { code, message, details } = thrown;
    throw new IntentRefusedError(code, message, { cause: thrown, details });
  }
}
