/**
 * The box that the user draws. Its times count from now, so it keeps its place on the chart until
 * it is quoted.
 */
import { type Bet, formatUnits, parsePrice, type SolverInfo } from "@rangemaker/client";
import { DAY_MS } from "../../../../lib/time.ts";
import {
  CENT,
  clamp,
  decimalsOf,
  durationText,
  exactDurationText,
  formatAmount,
  formatRange,
  roundDuration,
  toNumber,
} from "../parts/format.ts";
import { numberError, tryParseDecimal, tryParseDuration } from "./input.ts";

/** A box before it is quoted: prices with 6 decimals, times in milliseconds. */
export interface Draft {
  lowerPrice: bigint;
  upperPrice: bigint;
  /** From the quote to the start of the window. */
  startsInMs: number;
  durationMs: number;
}

/** Earliest start of a window: the quote is read and signed before it. */
export const START_MIN_MS = 8_000;

/** Time to read a quote before it is signed. */
export const QUOTE_LIFE_MS = 30_000;

/** The shortest box that can be drawn. A maker may ask for a longer one: `GET /info` has its bounds. */
export const DURATION_MIN_MS = 1_000;

/** The longest box that can be drawn, and the latest start. */
const DURATION_MAX_MS = DAY_MS;

/** Corners of a drawn box, in the units of the chart. */
export interface Corners {
  /** From now; times before the earliest start count as that. */
  fromMs: number;
  toMs: number;
  low: number;
  high: number;
}

/** The draft of a drawn box, with rounded values; undefined if it is too small to be intended. */
export function draftOf({ fromMs, toMs, low, high }: Corners): Draft | undefined {
  const startMs = Math.max(START_MIN_MS, Math.min(fromMs, toMs));
  const endMs = Math.max(fromMs, toMs);
  const digits = decimalsOf(Math.max(low, high));
  const lowerPrice = parsePrice(Math.min(low, high).toFixed(digits));
  const upperPrice = parsePrice(Math.max(low, high).toFixed(digits));
  if (lowerPrice === undefined || upperPrice === undefined || lowerPrice >= upperPrice) {
    return undefined;
  }
  if (endMs <= 0 || roundDuration(Math.abs(toMs - fromMs)) === 0) return undefined;
  return {
    lowerPrice,
    upperPrice,
    startsInMs: roundDuration(startMs),
    durationMs: clamp(roundDuration(endMs - startMs), DURATION_MIN_MS, DURATION_MAX_MS),
  };
}

/** Describes a box in a sentence. */
export function describeDraft(draft: Draft): string {
  const { startsInMs, durationMs } = draft;
  return `from ${formatRange(draft, " to ")}, starts in ${durationText(startsInMs)}, ` +
    `lasts ${durationText(durationMs)}.`;
}

/** The fields of the form, as text. */
export interface DraftFields {
  lower: string;
  upper: string;
  startsIn: string;
  lasts: string;
  amount: string;
}

/** Labels of the fields. */
export const LABELS: Readonly<Record<keyof DraftFields, string>> = {
  lower: "Stays above",
  upper: "Stays below",
  startsIn: "Starts in",
  lasts: "Lasts",
  amount: "You bet",
};

/** Whether the user may not have reached a field yet: an empty price is not wrong. */
export function isUnreached(fields: DraftFields, name: keyof DraftFields): boolean {
  return (name === "lower" || name === "upper") && fields[name] === "";
}

/** The fields for a draft; both prices have at least the digits that are shown of the upper one. */
export function fieldsOf(draft: Draft): Omit<DraftFields, "amount"> {
  const digits = decimalsOf(toNumber(draft.upperPrice));
  const priceText = (price: bigint) => {
    const [whole, fraction = ""] = formatUnits(price).split(".");
    return [whole, fraction.padEnd(digits, "0")].filter(Boolean).join(".");
  };
  return {
    lower: priceText(draft.lowerPrice),
    upper: priceText(draft.upperPrice),
    startsIn: exactDurationText(draft.startsInMs),
    lasts: exactDurationText(draft.durationMs),
  };
}

/** An amount for its field: whole, or with two decimals at least like all amounts on the page. */
export function amountText(amount: bigint): string {
  const [whole, fraction] = formatUnits(amount).split(".");
  return fraction === undefined ? `${whole}` : `${whole}.${fraction.padEnd(2, "0")}`;
}

/** Errors by field. */
export type FieldErrors = Partial<Record<keyof DraftFields, string>>;

/** The values of valid fields, and the errors of the others. */
export interface ParsedFields {
  draft?: Draft;
  /** Also an amount beyond its bounds, which is an error. */
  betAmount?: bigint;
  errors: FieldErrors;
}

/** The first wrong field of the form, and its error as a sentence. */
export function firstError(errors: FieldErrors) {
  const names = Object.keys(LABELS) as (keyof DraftFields)[]; // its own keys
  const field = names.find((name) => errors[name] !== undefined);
  return field && { field, text: errorText(field, errors[field] ?? "") };
}

/** The error of a field as a sentence. */
export function errorText(field: keyof DraftFields, error: string): string {
  return `${LABELS[field]}: ${error}.`;
}

const SPAN_RULE = "such as 15 s, 5 min, 2 h or 1 d";

/** What bounds a bet, as far as it is known: the maker's limits, and the user's balance. */
interface BetBounds extends Partial<SolverInfo["config"]> {
  balance?: bigint | undefined;
}

/** Whether there is no box at all. */
export function hasNoBox({ lower, upper }: DraftFields): boolean {
  return lower === "" && upper === "";
}

/** Reads the fields of the form. Without a box, prices may be empty, and amounts have no bounds. */
export function parseFields(fields: DraftFields, bounds: BetBounds = {}): ParsedFields {
  const errors: FieldErrors = {};
  const number = (
    name: "lower" | "upper" | "amount",
    noun: string,
    minText: string,
    min = 1n,
  ): bigint => {
    const parsed = tryParseDecimal(fields[name]);
    if (parsed !== undefined && parsed >= min) return parsed;
    errors[name] = numberError(fields[name], noun, minText, min);
    return 0n;
  };
  const duration = (name: "startsIn" | "lasts", minMs: number, maxMs?: number): number => {
    const ms = durationOf(fields[name], minMs, maxMs);
    if (ms !== undefined) return ms;
    const [min, max] = [minMs, maxMs ?? DURATION_MAX_MS].map(durationText);
    errors[name] = `Enter ${min} to ${max}, ${SPAN_RULE}`;
    return 0;
  };
  const lowerPrice = number("lower", "a price", "above 0");
  const upperPrice = number("upper", "a price", "above 0");
  const amount = number("amount", "an amount", "of at least 0.01", CENT);
  const startsInMs = duration("startsIn", START_MIN_MS);
  const durationMs = duration("lasts", bounds.minDuration ?? DURATION_MIN_MS, bounds.maxDuration);
  if (errors.lower === undefined && errors.upper === undefined && lowerPrice >= upperPrice) {
    errors.upper = "Enter a price above the lower one";
  }
  const hasBox = Object.keys(errors).every((name) => name === "amount");
  const draft = hasBox ? { lowerPrice, upperPrice, startsInMs, durationMs } : undefined;
  const betAmount = errors.amount === undefined ? amount : undefined;
  if (hasNoBox(fields)) {
    const { lower: _lower, upper: _upper, ...others } = errors;
    return { draft, betAmount, errors: others };
  }
  const beyond = betAmount === undefined ? undefined : amountError(betAmount, bounds);
  return {
    draft,
    betAmount,
    errors: beyond === undefined ? errors : { ...errors, amount: beyond },
  };
}

/** Why this amount cannot be bet. A balance of 0 is reported elsewhere. */
function amountError(
  betAmount: bigint,
  { balance, minBetAmount, maxBetAmount }: BetBounds,
): string | undefined {
  if (balance && betAmount > balance) {
    return `Enter at most ${formatAmount(balance)} USDC, your balance`;
  }
  if (minBetAmount !== undefined && betAmount < minBetAmount) {
    return `Enter at least ${formatAmount(minBetAmount)} USDC, the maker’s smallest bet`;
  }
  if (maxBetAmount !== undefined && betAmount > maxBetAmount) {
    return `Enter at most ${formatAmount(maxBetAmount)} USDC, the maker’s largest bet`;
  }
  return undefined;
}

/** Undefined if the text is not a duration, or is outside the bounds. */
export function durationOf(
  text: string,
  minMs: number,
  maxMs = DURATION_MAX_MS,
): number | undefined {
  const ms = tryParseDuration(text);
  return ms !== undefined && ms >= minMs && ms <= maxMs ? ms : undefined;
}

/** The bet for a draft that is quoted now. */
export function betFromDraft(symbol: string, draft: Draft, betAmount: bigint, nowMs: number): Bet {
  const { lowerPrice, upperPrice, startsInMs, durationMs } = draft;
  const startTime = Math.round(nowMs + startsInMs);
  return {
    symbol,
    lowerPrice,
    upperPrice,
    betAmount,
    startTime,
    endTime: startTime + durationMs,
    deadline: Math.round(nowMs + QUOTE_LIFE_MS),
  };
}

/** Whether two bets that were made at different times have the same box and stake. */
export function isSameBet(one: Bet, other: Bet): boolean {
  // Starts and deadlines of drafts both count from now.
  const partsOf = ({ symbol, lowerPrice, upperPrice, betAmount, startTime, endTime }: Bet) =>
    [symbol, lowerPrice, upperPrice, betAmount, endTime - startTime].join();
  const startAfterDeadlineMs = ({ startTime, deadline = 0 }: Bet) => startTime - deadline;
  return partsOf(one) === partsOf(other) &&
    Math.abs(startAfterDeadlineMs(one) - startAfterDeadlineMs(other)) <= 1;
}
