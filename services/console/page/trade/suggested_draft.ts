/** The box that is suggested around the present price, and an earlier one that is repeated there. */
import type { Bet } from "@rangemaker/client";
import { clamp, durationText } from "../parts/format.ts";
import {
  amountText,
  type Draft,
  type DraftFields,
  draftOf,
  DURATION_MIN_MS,
  durationOf,
  fieldsOf,
  START_MIN_MS,
} from "./draft.ts";

/** Time until a suggested box starts: more than users need to read or hear its quote. */
const SUGGESTED_START_MS = 20_000;

/**
 * Length of a suggested box. Payouts of shorter boxes change by more than most users accept while
 * they decide; `suggested_draft_test.ts` measures that.
 */
const SUGGESTED_MS = 60_000;

/** The fields before there is a box. */
export const EMPTY_FIELDS: DraftFields = {
  lower: "",
  upper: "",
  startsIn: durationText(SUGGESTED_START_MS),
  lasts: durationText(SUGGESTED_MS),
  amount: "10",
};

/** Half the height of a suggested box as a share of the price, if its volatility is unknown. */
const HALF_HEIGHT = 0.0008;

/** Minimum of half the height of a suggested box, as a share of the price. */
const HALF_HEIGHT_MIN = 0.0002;

/** Maximum of half the height of a suggested box, as a share of the price. */
const HALF_HEIGHT_MAX = 0.01;

/** Half the height in standard deviations of the price at the box's end: it likely stays inside. */
const HALF_HEIGHT_DEVIATIONS = 1.27;

/**
 * Half the height of a suggested box, as a share of the price. The box is not sure to win, which no
 * maker would price, and not sure to lose.
 *
 * @param aheadMs From now to the end of the box.
 * @param move Standard deviation of the price's change in a second, as a share of it, if it is
 * known.
 */
function halfHeightOf(aheadMs: number, move?: number): number {
  const wanted = move === undefined
    ? HALF_HEIGHT
    : HALF_HEIGHT_DEVIATIONS * move * Math.sqrt(aheadMs / 1_000);
  return clamp(wanted, HALF_HEIGHT_MIN, HALF_HEIGHT_MAX);
}

/** When the window of a box begins, and how long it is. */
type Times = Pick<Draft, "startsInMs" | "durationMs">;

/** The times in the fields. A wrong one is replaced by that of a suggested box. */
export function timesOf({ startsIn, lasts }: DraftFields): Times {
  return {
    startsInMs: durationOf(startsIn, START_MIN_MS) ?? SUGGESTED_START_MS,
    durationMs: durationOf(lasts, DURATION_MIN_MS) ?? SUGGESTED_MS,
  };
}

/**
 * A box around a price that a maker accepts, with exactly these times.
 *
 * @param move As in {@link halfHeightOf}.
 * @param kept A box whose height is kept.
 */
export function suggestedDraft(
  price: bigint,
  move?: number,
  { startsInMs, durationMs }: Times = timesOf(EMPTY_FIELDS),
  kept?: Pick<Draft, "lowerPrice" | "upperPrice">,
): Draft {
  const suggested = Number(price) * halfHeightOf(startsInMs + durationMs, move);
  const keptHeight = kept && kept.upperPrice - kept.lowerPrice;
  // The lower side stays above 0.
  const half = Math.min(0.9 * Number(price), keptHeight ? Number(keptHeight) / 2 : suggested);
  const halfUnits = BigInt(Math.max(1, Math.round(half)));
  const draft = draftOf({
    fromMs: startsInMs,
    toMs: startsInMs + durationMs,
    low: (Number(price) - half) / 1e6,
    high: (Number(price) + half) / 1e6,
  }) ?? { lowerPrice: price - halfUnits, upperPrice: price + halfUnits };
  const { lowerPrice } = draft;
  const upperPrice = keptHeight ? lowerPrice + keptHeight : draft.upperPrice;
  return { lowerPrice, upperPrice, startsInMs, durationMs };
}

/**
 * The fields for an earlier bet's box around the present price, with its length and amount.
 *
 * @param fromMs When it starts, from now: a bet does not contain what its user entered.
 */
export function repeatedDraft(
  { startTime, endTime, betAmount, lowerPrice, upperPrice }: Omit<Bet, "symbol">,
  price: bigint,
  fromMs: number,
): DraftFields {
  const times = { startsInMs: fromMs, durationMs: endTime - startTime };
  const draft = suggestedDraft(price, undefined, times, { lowerPrice, upperPrice });
  return { ...fieldsOf(draft), amount: amountText(betAmount) };
}
