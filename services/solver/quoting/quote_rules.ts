import { RangemakerError } from "../../../lib/errors.ts";
import type { Markets } from "../../../lib/protocol/markets.ts";
import type { Bet } from "../../../lib/protocol/bet.ts";
import { solverError } from "../shared/errors.ts";
import { LIMITS } from "../shared/limits.ts";

/** Bounds on a quote's times, counted from now; the specification has none. */
export interface TimeBounds {
  /** Longest time until a window starts: the price of a later one would be a guess. */
  maxStartAheadMs: number;
  /** Longest time since a window started: the user has already seen that part of it. */
  maxStartBehindMs: number;
  /** Longest life of a quote: until its deadline, its user may choose the moment. */
  maxDeadlineMs: number;
}

/** Codes of refused quotes and estimates (spec: quote solver, "Errors"). */
export const QUOTE_RULE_CODES = [
  "UNSUPPORTED_PAIR",
  "BET_TOO_SMALL",
  "BET_TOO_LARGE",
  "DURATION_TOO_SHORT",
  "DURATION_TOO_LONG",
  "INVALID_PRICE_RANGE",
] as const;

/**
 * Checks the rules of `POST /quote` in the spec's order: pair, bet, duration, price range.
 *
 * @param minBetAmount The smallest bet that is quoted.
 * @throws {RangemakerError} The first rule broken, one of {@link QUOTE_RULE_CODES}.
 */
export function requireQuoteRules(
  bet: Bet,
  markets: Markets,
  minBetAmount: bigint,
): void {
  const { base, quote, betAmount, lowerPrice, upperPrice } = bet;
  if (markets.find(base, quote) === undefined) {
    throw solverError("UNSUPPORTED_PAIR", { base, quote });
  }
  const { maxBetAmount, minDurationMs, maxDurationMs } = LIMITS;
  if (betAmount < minBetAmount) throw solverError("BET_TOO_SMALL", { betAmount, minBetAmount });
  if (betAmount > maxBetAmount) throw solverError("BET_TOO_LARGE", { betAmount, maxBetAmount });
  const durationMs = bet.endTime - bet.startTime;
  if (durationMs < minDurationMs) {
    throw solverError("DURATION_TOO_SHORT", { durationMs, minDurationMs });
  }
  if (durationMs > maxDurationMs) {
    throw solverError("DURATION_TOO_LONG", { durationMs, maxDurationMs });
  }
  if (lowerPrice >= upperPrice) {
    throw solverError("INVALID_PRICE_RANGE", { lowerPrice, upperPrice });
  }
}

/** Checks the window of a bet. @throws {RangemakerError} `INVALID_TIME_RANGE` with the bound. */
export function requireStart({ startTime }: Bet, nowMs: number, bounds: TimeBounds): void {
  const { maxStartAheadMs, maxStartBehindMs } = bounds;
  const startsInMs = startTime - nowMs;
  if (startsInMs <= maxStartAheadMs && -startsInMs <= maxStartBehindMs) return;
  const facts = { startTime, startsInMs, maxStartAheadMs, maxStartBehindMs };
  throw solverError("INVALID_TIME_RANGE", facts);
}

/** Checks the deadline of a quote. @throws {RangemakerError} `INVALID_REQUEST` with the bound. */
export function requireDeadline(deadline: number, nowMs: number, bounds: TimeBounds): void {
  const aheadMs = deadline - nowMs;
  if (aheadMs <= bounds.maxDeadlineMs) return;
  throw new RangemakerError(
    "INVALID_REQUEST",
    `deadline: Expected at most ${bounds.maxDeadlineMs} ms from now (--max-deadline-ms): ` +
      `received ${aheadMs} ms`,
    { details: { field: "deadline", aheadMs, maxDeadlineMs: bounds.maxDeadlineMs } },
  );
}
