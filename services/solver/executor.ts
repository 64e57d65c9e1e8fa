import type { Clock } from "../../lib/clock.ts";
import { findMarket } from "../../lib/protocol/markets.ts";
import type { NodePrice } from "../../lib/protocol/price.ts";
import { hashQuote, type Quote } from "../../lib/protocol/quote.ts";
import { requireSigner, type Signer } from "../../lib/protocol/signature.ts";
import { signTransaction, transactionToText } from "../../lib/protocol/transaction.ts";
import { RequestError } from "../../lib/service/envelope.ts";
import type { Intent, IntentStore, SignedTransactionText } from "../../lib/store/intent.ts";
import { IntentRefusedError, SubmissionFailure, type Submitter } from "../../lib/submitter.ts";
import {
  decodeExecution,
  encodeExecution,
  type ExecuteResult,
  type Execution,
  resultOf,
} from "./execution.ts";
import type { Hedge } from "./hedge.ts";

/** What an {@link Executor} works with. */
export interface ExecutorOptions {
  store: IntentStore;
  submitter: Pick<Submitter, "submit">;
  node: { getPrices(): Promise<Record<string, NodePrice>> };
  hedge: Hedge;
  signer: Signer;
  chainId: number;
  clock: Clock;
  /** Most that the solver may lose on one thesis (payout minus bet), USDC with 6 decimals. */
  maxRisk: bigint;
  /** Nothing is executed at all. */
  dryRun: boolean;
}

/** Carries out quotes that the user has signed, each once; the quote hash is what makes it one. */
export class Executor {
  readonly #options: ExecutorOptions;

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** @throws {RequestError} 503 in dry-run mode. */
  requireLive(): void {
    if (!this.#options.dryRun) return;
    throw new RequestError(503, "DRY_RUN", "Execution is not available in dry-run mode");
  }

  /**
   * Submits the thesis of a quote, or gives the result that the same quote had before.
   *
   * @throws {SignatureError} If the quote is not this solver's or not signed by its user.
   * @throws {RequestError} 400 deadline passed or too risky, 503 no fresh price; nothing is recorded.
   * @throws {OutcomeUnknownError} If the node gave no answer yet.
   */
  async execute(execution: Execution): Promise<ExecuteResult> {
    this.requireLive();
    const { store, submitter, signer, chainId, clock } = this.#options;
    const { quote, userSignature } = execution;
    const quoteHash = hashQuote(quote, chainId);
    requireSigner("Quote signature", quoteHash, quote.signature, signer.address);
    requireSigner("User signature", quoteHash, userSignature, quote.user);
    const earlier = await store.find(quoteHash);
    if (earlier !== undefined) return resultOf(await submitter.submit(earlier));
    this.#requireOpenDeadline(quote);
    this.#requireRisk(quote);
    await this.#requireFreshMarket(quote);
    const { intent } = await store.insert({
      key: quoteHash,
      subject: quote.user,
      payload: encodeExecution(execution),
      transaction: null,
      expiresAtMs: quote.deadline,
      createdAtMs: clock.now(),
    });
    return resultOf(await submitter.submit(intent));
  }

  /**
   * Hedges a recorded execution and signs its transaction.
   *
   * @throws {IntentRefusedError} If the deadline passed meanwhile.
   */
  async prepare(intent: Intent): Promise<SignedTransactionText> {
    const { hedge, signer, chainId, clock } = this.#options;
    const { quote, userSignature } = decodeExecution(intent.payload);
    await hedge.cover(hashQuote(quote, chainId), quote);
    if (clock.now() > quote.deadline) {
      throw new IntentRefusedError(SubmissionFailure.deadlinePassed, this.#deadlinePassed(quote));
    }
    const { tx, txHash } = signTransaction(
      {
        type: "RfqSubmit" as const,
        timestamp: clock.now(),
        from: signer.address,
        user: quote.user,
        thesisType: quote.thesisType,
        base: quote.oraclePair.base,
        quote: quote.oraclePair.quote,
        lowerPrice: quote.priceRange.lower,
        upperPrice: quote.priceRange.upper,
        betAmount: quote.betAmount,
        payout: quote.payout,
        startTime: quote.startTime,
        endTime: quote.endTime,
        deadline: quote.deadline,
        solverSignature: quote.signature,
        userSignature,
      },
      signer,
      chainId,
    );
    return { txHash, text: transactionToText(tx) };
  }

  #requireOpenDeadline(quote: Quote): void {
    if (this.#options.clock.now() <= quote.deadline) return;
    throw new RequestError(400, SubmissionFailure.deadlinePassed, this.#deadlinePassed(quote));
  }

  #deadlinePassed({ deadline }: Quote): string {
    return `Quote deadline ${deadline} passed ${this.#options.clock.now() - deadline} ms ago`;
  }

  #requireRisk({ payout, betAmount }: Quote): void {
    const risk = payout - betAmount;
    const { maxRisk } = this.#options;
    if (risk <= maxRisk) return;
    throw new RequestError(
      400,
      "RISK_TOO_LARGE",
      `Payout ${payout} would risk ${risk} on one thesis, above ${maxRisk}`,
    );
  }

  /** A node that is away or has no fresh price would refuse, so the user is told before anything. */
  async #requireFreshMarket({ oraclePair }: Quote): Promise<void> {
    const prices = await this.#options.node.getPrices();
    const symbol = findMarket(oraclePair.base, oraclePair.quote)?.symbol ?? "this pair";
    const price = prices[symbol];
    if (price?.state === "fresh") return;
    const age = price === undefined ? "none was ever seen" : `the last is ${price.ageMs} ms old`;
    throw new RequestError(
      503,
      "PRICE_STALE",
      `Core node has no fresh price of ${symbol}: ${age}`,
    );
  }
}
