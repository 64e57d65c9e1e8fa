import { findMarket } from "../../lib/protocol/markets.ts";
import type { QuoteRequest, QuoteTerms } from "../../lib/protocol/quote.ts";
import type { Address } from "../../lib/protocol/scalars.ts";
import { RequestError } from "../../lib/http/envelope.ts";
import { LIMITS } from "./limits.ts";

/** Codes of refused quotes and estimates (spec: quote solver, "Errors"). */
export const QUOTE_RULES = [
  "UNSUPPORTED_PAIR",
  "BET_TOO_SMALL",
  "BET_TOO_LARGE",
  "DURATION_TOO_SHORT",
  "DURATION_TOO_LONG",
  "INVALID_PRICE_RANGE",
] as const;

/** One of {@link QUOTE_RULES}. */
export type QuoteRule = (typeof QUOTE_RULES)[number];

/** A quote that breaks a rule: the answer is 400 with `<CODE>: <message>`. */
export class QuoteRuleError extends RequestError {
  constructor(rule: QuoteRule, message: string) {
    super(400, rule, `${rule}: ${message}`);
  }
}

/** The terms of a bet that the rules and the price depend on: all but whose it is. */
export type BetTerms = Omit<QuoteRequest, "user" | "deadline">;

/** The bet of a quote. */
export function betOf({ oraclePair, priceRange, ...terms }: QuoteTerms): BetTerms {
  return {
    thesisType: terms.thesisType,
    base: oraclePair.base,
    quote: oraclePair.quote,
    lowerPrice: priceRange.lower,
    upperPrice: priceRange.upper,
    betAmount: terms.betAmount,
    startTime: terms.startTime,
    endTime: terms.endTime,
  };
}

/**
 * Holds that the user of a quote is somebody else. A quote names its user and not its solver, and both
 * sign the same hash: a solver that signed one for itself as the user would have signed for the user,
 * and anybody could be its counterparty, at terms that he asked for.
 *
 * @throws {RequestError} 400 where the solver is the user.
 */
export function requireAnotherUser(user: Address, solver: Address): void {
  if (user !== solver) return;
  throw new RequestError(
    400,
    "INVALID_REQUEST",
    `INVALID_REQUEST: user: Expected another address than the solver's own, ${solver}`,
  );
}

/**
 * Bounds the deadline of a quote: until then the user may choose the moment of execution.
 *
 * @throws {RequestError} 400, naming the bound.
 */
export function requireDeadline(deadlineMs: number, nowMs: number, maxAheadMs: number): void {
  const aheadMs = deadlineMs - nowMs;
  if (aheadMs <= maxAheadMs) return;
  throw new RequestError(
    400,
    "INVALID_REQUEST",
    `INVALID_REQUEST: deadline: Expected at most ${maxAheadMs} ms from now (--max-deadline-ms): ` +
      `received ${aheadMs} ms`,
  );
}

/**
 * Holds the rules of `POST /quote` in the spec's order: pair, bet, duration, price range.
 *
 * @throws {QuoteRuleError} The first rule broken.
 */
export function requireRules(bet: BetTerms): void {
  requirePair(bet);
  requireBetAmount(bet.betAmount);
  requireDuration(bet.endTime - bet.startTime);
  requirePriceRange(bet.lowerPrice, bet.upperPrice);
}

function requirePair({ base, quote }: BetTerms): void {
  if (findMarket(base, quote) === undefined) {
    throw new QuoteRuleError("UNSUPPORTED_PAIR", `Pair ${base} / ${quote} is not supported`);
  }
}

function requireBetAmount(amount: bigint): void {
  const { minBetAmount, maxBetAmount } = LIMITS;
  if (amount < minBetAmount) {
    throw new QuoteRuleError("BET_TOO_SMALL", `Bet ${amount} is below ${minBetAmount}`);
  }
  if (amount > maxBetAmount) {
    throw new QuoteRuleError("BET_TOO_LARGE", `Bet ${amount} is above ${maxBetAmount}`);
  }
}

function requireDuration(durationMs: number): void {
  const { minDurationMs, maxDurationMs } = LIMITS;
  if (durationMs < minDurationMs) {
    throw new QuoteRuleError(
      "DURATION_TOO_SHORT",
      `Duration of ${durationMs} ms is below ${minDurationMs} ms`,
    );
  }
  if (durationMs > maxDurationMs) {
    throw new QuoteRuleError(
      "DURATION_TOO_LONG",
      `Duration of ${durationMs} ms is above ${maxDurationMs} ms`,
    );
  }
}

function requirePriceRange(lower: bigint, upper: bigint): void {
  if (lower >= upper) {
    throw new QuoteRuleError(
      "INVALID_PRICE_RANGE",
      `Lower price ${lower} is not below upper price ${upper}`,
    );
  }
}
