import { THESIS_DURATION_MAX_MS } from "../../../lib/protocol/constants.ts";

/** Bounds of a quote (spec: quote solver, "Limits"). Amounts in USDC with 6 decimals. */
export const LIMITS = {
  minBetAmount: 1n,
  maxBetAmount: 1_000_000_000_000n,
  minDurationMs: 1_000,
  maxDurationMs: THESIS_DURATION_MAX_MS,
  /** A payout is at most this many times the bet. */
  maxPayoutRatio: 10n,
} as const;
