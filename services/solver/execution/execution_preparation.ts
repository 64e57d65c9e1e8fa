import { type Clock, waitMs } from "../../../lib/clock.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { IntentRefusedError, OutcomeUnknownError } from "../../../lib/intents/errors.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import type { TransactionTerms } from "../../../lib/intents/transactions.ts";
import { hash32Schema } from "../../../lib/protocol/scalars.ts";
import { solverLog } from "../shared/solver_log.ts";
import type { QuoteSigner } from "../quoting/quote_signer.ts";
import type { ExposureBook } from "../risk/exposure_book.ts";
import type { PreTradeChecks } from "../risk/pre_trade_checks.ts";
import { type Execution, requireExecution, transactionTermsOf } from "./execution.ts";
import type { Hedge } from "./hedge.ts";

interface ExecutionPreparationOptions {
  checks: Pick<PreTradeChecks, "holdMs" | "recheck">;
  exposure: ExposureBook;
  hedge: Hedge;
  quoteSigner: Pick<QuoteSigner, "requireOwn">;
  chainId: number;
  clock: Clock;
}

/** What a recorded execution needs before it is sent: verification, wait, rechecks and hedge. */
export class ExecutionPreparation {
  readonly #options: ExecutionPreparationOptions;
  /** Verified executions by intent, so that each is parsed and verified once. */
  readonly #verified = new WeakMap<Intent, Execution>();

  constructor(options: ExecutionPreparationOptions) {
    this.#options = options;
  }

  /** This process has verified an execution, and recorded it as this intent. */
  onRecorded(intent: Intent, execution: Execution): void {
    this.#verified.set(intent, execution);
  }

  /**
   * Prepares a recorded execution for its transaction: waits until this solver has seen all prices
   * that the user may have seen, then rechecks and hedges.
   *
   * @throws {IntentRefusedError} If the quote is no longer acceptable: its deadline, risk or price.
   * @throws {OutcomeUnknownError} If the hedge failed, but may succeed later.
   */
  async prepare(intent: Intent): Promise<void> {
    const { checks, exposure, hedge, clock } = this.#options;
    const { quote } = this.#executionOf(intent);
    // Another process may have recorded the execution.
    exposure.reserve(intent.key, quote);
    try {
      // After the deadline it is refused, even if the strategy fails.
      const holdMs = clock.now() > quote.deadline ? 0 : checks.holdMs(quote);
      // Clocks of other processes may differ.
      const leftMs = Math.min(holdMs, intent.createdAtMs + holdMs - clock.now());
      if (leftMs > 0) await waitMs(clock, leftMs);
      // Before and after the hedge, since a new price may have arrived.
      checks.recheck(quote, { isHedged: false });
      await hedge.cover(hash32Schema.parse(intent.key), quote);
      solverLog.hedged(intent.key, quote);
      checks.recheck(quote, { isHedged: true });
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      if (thrown.retry === "later") throw new OutcomeUnknownError(null, thrown);
      const { code, message, details } = thrown;
      throw new IntentRefusedError(code, message, { cause: thrown, details });
    }
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
    const { quoteSigner, chainId } = this.#options;
    const verify = () => requireExecution(intent, quoteSigner, chainId);
    return this.#verified.getOrInsertComputed(intent, verify);
  }
}
