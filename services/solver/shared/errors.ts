/** The errors of the solver that its folders share. */
import { createErrors } from "../../../lib/errors.ts";
import type { MarketPair } from "../../../lib/protocol/markets.ts";
import { usdcText } from "../../../lib/protocol/price.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { BET_REFUSAL_TEXTS } from "../../../lib/protocol/bet.ts";

/** The refusals of the solver: the text of each code, made from the numbers in `details`. */
const TEXTS = {
  UNSUPPORTED_PAIR: ({ base, quote }: MarketPair) =>
    `Pair ${base} / ${quote} is not supported: GET /pairs lists the supported pairs`,
  ...BET_REFUSAL_TEXTS,
  BET_TOO_LARGE: (d: { betAmount: bigint; maxBetAmount: bigint }) =>
    `Bet of ${usdcText(d.betAmount)} is above ${usdcText(d.maxBetAmount)}: bet less`,
  DURATION_TOO_SHORT: (d: { durationMs: number; minDurationMs: number }) =>
    d.durationMs < 0
      ? `Window ends ${-d.durationMs} ms before it starts: choose a later end`
      : `Duration of ${d.durationMs} ms is below ${d.minDurationMs} ms: choose a longer window`,
  DURATION_TOO_LONG: (d: { durationMs: number; maxDurationMs: number }) =>
    `Duration of ${d.durationMs} ms is above ${d.maxDurationMs} ms: choose a shorter window`,
  INVALID_TIME_RANGE: (d: {
    startTime: number;
    /** Negative for a window that has begun. */
    startsInMs: number;
    maxStartAheadMs: number;
    maxStartBehindMs: number;
  }) =>
    d.startsInMs > 0
      ? `Window starts ${d.startsInMs} ms from now; at most ${d.maxStartAheadMs} ms are allowed ` +
        "(--max-start-ahead-ms): choose an earlier start"
      : `Window started ${-d.startsInMs} ms ago; at most ${d.maxStartBehindMs} ms are allowed ` +
        "(--max-start-behind-ms): choose a later start",
  DEADLINE_PASSED: (d: { deadline: number; leftMs: number; neededMs: number }) =>
    d.leftMs < 0
      ? `Quote deadline ${d.deadline} (Unix milliseconds) passed ${-d.leftMs} ms ago; ` +
        "request a new quote"
      : `Quote deadline ${d.deadline} is ${d.leftMs} ms away: an execution takes ${d.neededMs} ms, ` +
        `${d.neededMs - d.leftMs} ms too long; request a quote with a later deadline`,
  RISK_TOO_LARGE: (d: { payout: bigint; risk: bigint; maxRisk: bigint }) =>
    `Payout of ${usdcText(d.payout)} would risk ${usdcText(d.risk)} on one thesis, ` +
    `${usdcText(d.risk - d.maxRisk)} above ${usdcText(d.maxRisk)}; bet less`,
  PRICE_STALE: (d: { symbol: string; ageMs: number | null }) =>
    `Core node has no fresh price of ${d.symbol}: ` +
    `${d.ageMs === null ? "it never had one" : `the last is ${d.ageMs} ms old`}; try again later`,
  INSUFFICIENT_BALANCE: (d: {
    user: Address;
    balance: bigint;
    betAmount: bigint;
    /** Amount in executions of the user that are under way. */
    reserved: bigint;
    missing: bigint;
  }) => {
    const and = d.reserved === 0n ? "" : ` and ${usdcText(d.reserved)} in executions under way`;
    return `Balance of ${usdcText(d.balance)} of user ${d.user} is ${
      usdcText(d.missing)
    } short of ` +
      `the bet of ${usdcText(d.betAmount)}${and}: ` +
      "deposit first; the quote stays valid until its deadline";
  },
  BALANCE_TOO_LOW: (d: { balance: bigint; needed: bigint; missing: bigint }) =>
    `Solver balance of ${usdcText(d.balance)} is ${usdcText(d.missing)} short of the ` +
    `${
      usdcText(d.needed)
    } at risk in executions under way: bet less, or try again when they have ended`,
  EXPOSURE_UNKNOWN: () =>
    "Exposure is unknown: the open theses have not been loaded from the core node yet; retry",
  EXPOSURE_TOO_LARGE: (d: { exposure: bigint; maxExposure: bigint; risk: bigint }) =>
    `Exposure would be ${usdcText(d.exposure)}, above --max-exposure ${usdcText(d.maxExposure)}: ` +
    `this bet may lose ${usdcText(d.risk)}; bet less, or wait for settlements`,
  DRY_RUN: () => "Execution is not available in dry-run mode: start the solver without --dry-run",
  HEDGE_REFUSED: ({ reason }: { reason: string }) =>
    `Execution was not hedged: ${reason}; request a new quote`,
};

/** An error of the solver, with these facts as its `details`. */
export const solverError = createErrors(TEXTS);
