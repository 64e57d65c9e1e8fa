import { THESIS_DURATION_MAX_MS } from "../../lib/protocol/constants.ts";
import type { Markets } from "../../lib/protocol/markets.ts";
import type { BetTerms } from "../../lib/protocol/terms.ts";
import { RangemakerError } from "../../lib/errors.ts";

/** Bounds of a quote (spec: quote solver, "Limits"). Amounts in USDC with 6 decimals. */
export const LIMITS = {
  minBetAmount: 1n,
  maxBetAmount: 1_000_000_000_000n,
  minDurationMs: 1_000,
  maxDurationMs: THESIS_DURATION_MAX_MS,
  /** A payout is at most this many times the bet. */
  maxPayoutRatio: 10n,
  /** Default deadline of an estimate, from now. */
  estimateDeadlineMs: 60_000,
} as const;

/** The smallest bet that is quoted: that of the specification, or of the chain if it is larger. */
export class MinimumBet {
  #amount: bigint = LIMITS.minBetAmount;

  get amount(): bigint {
    return this.#amount;
  }

  /** The chain refuses smaller bets, so that a quote for one could not be executed. */
  requiredByChain(amount: bigint): void {
    this.#amount = amount > LIMITS.minBetAmount ? amount : LIMITS.minBetAmount;
  }
}

/** Bounds on a quote's times, counted from now; the specification has none. */
export interface TimeBounds {
  /** Longest time until a window starts: the price of a later one would be a guess. */
  maxStartAheadMs: number;
  /** Longest time since a window started: its user has seen that part of it. */
  maxStartBehindMs: number;
  /** Longest life of a quote: until its deadline, its user may choose the moment. */
  maxDeadlineMs: number;
}

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

/** A quote that breaks a rule. */
export class QuoteRuleError extends RangemakerError {
  constructor(rule: QuoteRule, message: string, details: Record<string, string> = {}) {
    super(rule, message, { details });
  }
}

/**
 * Checks the rules of `POST /quote` in the spec's order: pair, bet, duration, price range.
 *
 * @param minBetAmount That of {@link MinimumBet}.
 * @throws {QuoteRuleError} The first rule broken.
 */
export function requireRules(
  bet: BetTerms,
  markets: Markets,
  minBetAmount: bigint = LIMITS.minBetAmount,
): void {
  requirePair(bet, markets);
  requireBetAmount(bet.betAmount, minBetAmount);
  requireDuration(bet.endTime - bet.startTime);
  requirePriceRange(bet.lowerPrice, bet.upperPrice);
}

/**
 * Checks the window of a bet.
 *
 * @throws {RangemakerError} `INVALID_TIME_RANGE` with the bound.
 */
export function requireStart({ startTime }: BetTerms, nowMs: number, bounds: TimeBounds): void {
  const aheadMs = startTime - nowMs;
  if (aheadMs > bounds.maxStartAheadMs) {
    throw new RangemakerError(
      "INVALID_TIME_RANGE",
      `Window starts ${aheadMs} ms from now, above ${bounds.maxStartAheadMs} ms ` +
        "(--max-start-ahead-ms): choose an earlier start",
    );
  }
  if (-aheadMs > bounds.maxStartBehindMs) {
    throw new RangemakerError(
      "INVALID_TIME_RANGE",
      `Window started ${-aheadMs} ms ago, above ${bounds.maxStartBehindMs} ms ` +
        "(--max-start-behind-ms): choose a later start",
    );
  }
}

/**
 * Checks the deadline of a quote.
 *
 * @throws {RangemakerError} `INVALID_REQUEST` with the bound.
 */
export function requireDeadline(deadline: number, nowMs: number, bounds: TimeBounds): void {
  const aheadMs = deadline - nowMs;
  if (aheadMs <= bounds.maxDeadlineMs) return;
  throw new RangemakerError(
    "INVALID_REQUEST",
    `deadline: Expected at most ${bounds.maxDeadlineMs} ms from now (--max-deadline-ms): ` +
      `received ${aheadMs} ms`,
  );
}

function requirePair({ base, quote }: BetTerms, markets: Markets): void {
  if (markets.find(base, quote) === undefined) {
    throw new QuoteRuleError(
      "UNSUPPORTED_PAIR",
      `Pair ${base} / ${quote} is not supported: GET /pairs lists those that are`,
    );
  }
}

function requireBetAmount(amount: bigint, minBetAmount: bigint): void {
  const { maxBetAmount } = LIMITS;
  if (amount < minBetAmount) {
    throw new QuoteRuleError("BET_TOO_SMALL", `Bet ${amount} is below ${minBetAmount}: bet more`);
  }
  if (amount > maxBetAmount) {
    throw new QuoteRuleError("BET_TOO_LARGE", `Bet ${amount} is above ${maxBetAmount}: bet less`);
  }
}

function requireDuration(durationMs: number): void {
  const { minDurationMs, maxDurationMs } = LIMITS;
  if (durationMs < minDurationMs) {
    throw new QuoteRuleError(
      "DURATION_TOO_SHORT",
      `Duration of ${durationMs} ms is below ${minDurationMs} ms: choose a longer window`,
    );
  }
  if (durationMs > maxDurationMs) {
    throw new QuoteRuleError(
      "DURATION_TOO_LONG",
      `Duration of ${durationMs} ms is above ${maxDurationMs} ms: choose a shorter window`,
    );
  }
}

function requirePriceRange(lower: bigint, upper: bigint): void {
  if (lower >= upper) {
    throw new QuoteRuleError(
      "INVALID_PRICE_RANGE",
      `Lower price ${lower} is not below upper price ${upper}: raise the upper one`,
      { lowerPrice: `${lower}`, upperPrice: `${upper}` },
    );
  }
}
