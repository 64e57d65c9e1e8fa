import { hashQuote } from "../../lib/protocol/hashes.ts";
import { type Quote, type QuoteTerms, quoteToWire } from "../../lib/protocol/quote.ts";
import type { Hex } from "../../lib/protocol/scalars.ts";
import type { Thesis } from "../../lib/protocol/thesis.ts";
import type { AdmissionFacts } from "../../services/solver/risk/exposure_limit.ts";
import { CHAIN_ID, market, solver, user } from "./support.ts";

/** A box on the test market. */
const BOX = {
  user: user.address,
  solver: solver.address,
  thesisType: "box",
  base: market.base,
  quote: market.quote,
  lowerPrice: 1n,
  upperPrice: 2n,
  betAmount: 100n,
  payout: 110n,
} as const;

/** Terms of a bet of a minute that starts now, quoted for half a minute. */
export function termsAt(nowMs: number, given: Partial<QuoteTerms> = {}): QuoteTerms {
  const times = { startTime: nowMs, endTime: nowMs + 60_000, deadline: nowMs + 30_000 };
  return { ...BOX, ...times, ...given };
}

/** An execution signed by solver and user, without the solver's help. */
export function signedExecution(terms: QuoteTerms) {
  const quoteHash = hashQuote(terms, CHAIN_ID);
  const quote: Quote = { ...terms, signature: solver.sign(quoteHash) };
  return { quoteHash, execution: { quote, userSignature: user.sign(quoteHash) } };
}

/** The same as a body of `POST /execute`. */
export function executeBody(terms: QuoteTerms) {
  const { execution: { quote, userSignature } } = signedExecution(terms);
  return { quote: quoteToWire(quote), userSignature };
}

/** A thesis of the solver, its quote hash made of its id. */
export function thesisOf(id: number, given: Partial<Thesis> = {}): Thesis {
  return {
    ...BOX,
    id,
    startTime: 5,
    endTime: 6,
    createdAt: 7,
    quoteHash: quoteHashOf(id),
    txHash: `0x${"cd".repeat(32)}`,
    status: "open",
    ...given,
  };
}

/** A bet of the test user with this much at risk. */
export function stakeOf(risk: bigint): QuoteTerms {
  return termsAt(0, { payout: 100n + risk });
}

/** Both sides have more than any bet needs, and nothing was under way. */
export const plenty: AdmissionFacts = {
  balances: { user: 10n ** 18n, solver: 10n ** 18n },
  inFlightBefore: { keys: new Set(), newest: 0 },
};

/** The quote hash of {@link thesisOf}. */
export function quoteHashOf(id: number): Hex {
  return `0x${id.toString(16).padStart(64, "0")}`;
}
