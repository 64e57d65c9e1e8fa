import { hashQuote, type Quote, type QuoteRequest } from "../../../lib/protocol/quote.ts";
import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import { LIMITS, requireRules } from "../limits.ts";
import type { QuoteSigner } from "./quote_signer.ts";
import { type BetTerms, betTermsOf } from "../../../lib/protocol/terms.ts";
import type { Price, PricingDetails, PricingStrategy, StrategyName } from "../pricing/strategy.ts";

/** What a {@link Quoter} works with. */
export interface QuoterOptions {
  strategy: Pick<PricingStrategy, "name" | "price">;
  signer: Pick<QuoteSigner, "sign">;
  /** The address of the signer: every quote names it. */
  solver: Address;
  chainId: number;
}

/** A preview of a quote (spec: quote solver, "Estimate"). */
export interface Estimate {
  betAmount: bigint;
  payout: bigint;
  pricing?: PricingDetails;
}

/** A signed quote with the hash that the user signs in turn. */
export interface SignedQuote {
  quote: Quote;
  quoteHash: Hex;
  pricing?: PricingDetails;
}

/** Prices bets and signs quotes. Nothing is kept: a quote is all that is needed to execute it. */
export class Quoter {
  readonly #options: QuoterOptions;

  constructor(options: QuoterOptions) {
    this.#options = options;
  }

  /** How bets are priced. */
  get strategyName(): StrategyName {
    return this.#options.strategy.name;
  }

  /**
   * A signed quote. What it risks is looked at when it is executed: the rules of a quote know the
   * bounds of the bet alone (spec: quote solver, flow step 4).
   *
   * @throws {QuoteRuleError} If a rule is broken.
   * @throws {PricingRefusedError} If the strategy has no price.
   */
  quote(request: QuoteRequest): SignedQuote {
    const { signer, solver, chainId } = this.#options;
    requireRules(request);
    const { payout, details: pricing } = this.#price(request);
    const { user, deadline } = request;
    const terms = { solver, user, ...betTermsOf(request), payout, deadline };
    const quoteHash = hashQuote(terms, chainId);
    return { quote: { ...terms, signature: signer.sign(quoteHash) }, quoteHash, pricing };
  }

  /**
   * What a quote would pay.
   *
   * @throws {QuoteRuleError} If a rule is broken.
   * @throws {PricingRefusedError} If the strategy has no price.
   */
  estimate(bet: BetTerms): Estimate {
    requireRules(bet);
    const { payout, details: pricing } = this.#price(bet);
    return { betAmount: bet.betAmount, payout, pricing };
  }

  #price(bet: BetTerms): Price {
    const { payout, details } = this.#options.strategy.price(bet);
    const most = bet.betAmount * LIMITS.maxPayoutRatio;
    return { payout: payout > most ? most : payout, details };
  }
}
