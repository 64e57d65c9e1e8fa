import { z } from "zod";
import type { EstimateAnswer } from "../../../lib/protocol/answers.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import { type Quote, type QuoteRequest, quoteRequestSchema } from "../../../lib/protocol/quote.ts";
import { MARKETS, type Markets, USDT } from "../../../lib/protocol/markets.ts";
import {
  addressSchema,
  type Hex,
  thesisTypeSchema,
  timestampSchema,
} from "../../../lib/protocol/scalars.ts";
import type { Clock } from "../../../lib/clock.ts";
import { type Bet, betOf } from "../../../lib/protocol/bet.ts";
import { solverLog } from "../shared/solver_log.ts";
import { LIMITS } from "../shared/limits.ts";
import {
  requireDeadline,
  requireQuoteRules,
  requireStart,
  type TimeBounds,
} from "./quote_rules.ts";
import type { QuoteSigner } from "./quote_signer.ts";
import type { ExposureLimit } from "../risk/exposure_limit.ts";
import type { PricedBet, PricingDetails, PricingStrategy } from "../pricing/strategy.ts";

export interface QuoterOptions {
  strategy: Pick<PricingStrategy, "name" | "price">;
  signer: Pick<QuoteSigner, "address" | "sign">;
  chainId: number;
  clock: Clock;
  markets: Markets;
  exposureLimit: Pick<ExposureLimit, "requireEstimateFits">;
  /** Bounds on the times of a quote; undefined for the rules of the specification alone. */
  timeBounds: TimeBounds | undefined;
}

/** A preview of a quote (spec: quote solver, "Estimate"). */
interface QuotePreview {
  betAmount: bigint;
  payout: bigint;
  pricing?: PricingDetails;
}

/** A signed quote with the hash that the user signs in turn. */
interface SignedQuote {
  quote: Quote;
  quoteHash: Hex;
  pricing?: PricingDetails;
}

/** Prices bets and signs quotes. It stores no quote: an execution needs only the quote itself. */
export class Quoter {
  readonly #options: QuoterOptions;
  #chainLimits = { minBetAmount: 0n, maxStartAheadMs: Infinity };

  constructor(options: QuoterOptions) {
    this.#options = options;
  }

  /** The smallest bet that is quoted: the larger minimum of the specification and the chain. */
  get minBetAmount(): bigint {
    const { minBetAmount } = this.#chainLimits;
    return minBetAmount > LIMITS.minBetAmount ? minBetAmount : LIMITS.minBetAmount;
  }

  /** Sets the bounds of the chain: quotes beyond them could not be executed. */
  setChainLimits(limits: { minBetAmount: bigint; maxStartAheadMs: number }): void {
    this.#chainLimits = limits;
  }

  get strategyName(): string {
    return this.#options.strategy.name;
  }

  /**
   * A signed quote. Its risk is checked at the execution: the rules of a quote limit only the bet
   * (spec: quote solver, flow step 4).
   *
   * @throws {RangemakerError} If a rule is broken.
   * @throws {RangemakerError} `INVALID_TIME_RANGE` or `INVALID_REQUEST` outside the time bounds.
   * @throws {PricingRefusedError} If the strategy has no price.
   */
  quote(request: QuoteRequest): SignedQuote {
    const { signer, chainId, clock, timeBounds } = this.#options;
    const { user, deadline } = request;
    this.#requireBet(request);
    if (timeBounds !== undefined) requireDeadline(deadline, clock.now(), timeBounds);
    const { payout, details: pricing } = this.#price(request);
    const unsigned = { solver: signer.address, user, ...betOf(request), payout, deadline };
    const quoteHash = hashQuote(unsigned, chainId);
    solverLog.quoted(quoteHash, unsigned);
    const signature = signer.sign(quoteHash);
    return { quote: { ...unsigned, signature }, quoteHash, pricing };
  }

  /**
   * The payout of a possible quote. Nothing is signed, so it has no deadline.
   *
   * @throws {RangemakerError} If a rule is broken.
   * @throws {RangemakerError} `INVALID_TIME_RANGE` outside the time bounds.
   * @throws {PricingRefusedError} If the strategy has no price.
   * @throws {RangemakerError} `EXPOSURE_TOO_LARGE` if the solver could not take the bet now.
   */
  estimate(bet: Bet): QuotePreview {
    const { exposureLimit } = this.#options;
    this.#requireBet(bet);
    const { payout, details: pricing } = this.#price(bet);
    exposureLimit.requireEstimateFits({ ...bet, payout });
    return { betAmount: bet.betAmount, payout, pricing };
  }

  #requireBet(bet: Bet): void {
    const { clock, timeBounds, markets } = this.#options;
    requireQuoteRules(bet, markets, this.minBetAmount);
    if (timeBounds === undefined) return;
    const maxStartAheadMs = Math.min(timeBounds.maxStartAheadMs, this.#chainLimits.maxStartAheadMs);
    requireStart(bet, clock.now(), { ...timeBounds, maxStartAheadMs });
  }

  #price(bet: Bet): PricedBet {
    const { payout, details } = this.#options.strategy.price(bet);
    const maxPayout = bet.betAmount * LIMITS.maxPayoutRatio;
    return { payout: payout > maxPayout ? maxPayout : payout, details };
  }
}

const MULTIPLIER_DECIMALS = 4;

const { user: _, ...termsShape } = quoteRequestSchema.shape;

/** Body of `POST /estimate` (spec: quote solver, "Estimate request"). */
export const estimateRequestSchema = z.object({
  ...termsShape,
  thesisType: z._default(thesisTypeSchema, "box"),
  base: z.prefault(addressSchema, MARKETS[0].base).describe("Base token; default BTC"),
  quote: z.prefault(addressSchema, USDT).describe("Quote token; default USDT"),
  deadline: z.optional(timestampSchema)
    .describe("Unix milliseconds; default one minute from now. Has no effect: nothing is signed"),
}).meta({ id: "EstimateRequest" });

/** The estimate as JSON (spec: quote solver, "Estimate"). */
export function estimateToWire({ betAmount, payout }: QuotePreview): EstimateAnswer["estimate"] {
  return {
    betAmount: betAmount.toString(),
    payout: payout.toString(),
    // Both are below 2^53, so they convert to numbers without loss.
    multiplier: (Number(payout) / Number(betAmount)).toFixed(MULTIPLIER_DECIMALS),
    solverCollateral: (payout - betAmount).toString(),
  };
}
