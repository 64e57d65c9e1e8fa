/** The stages of a bet, from draft to placed. */
import type { Estimate, Offer } from "@rangemaker/client";
import type { EstimateState } from "../data/estimator.ts";
import type { Explanation } from "../data/explain.ts";
import type { MarketState } from "../data/price_feed.ts";
import { formatTime } from "../format.ts";
import { leastPayout } from "./odds.ts";

/** Why the last attempt failed. */
export interface Failure extends Explanation {
  /**
   * Start of the window that the user signed for; undefined before that. The text must say whether
   * money moved, and name the box, since it may be shown beside other bets.
   */
  signedStartMs: number | undefined;
}

export type Stage =
  | { name: "draft"; failure?: Failure }
  | { name: "quoting" }
  /**
   * `estimated`: the last estimate of this bet. `replaces`: the last quote that the user saw, which
   * has expired or was refused. `notPlaced`: why it was refused.
   */
  | {
    name: "quoted";
    offer: Offer;
    estimated: Estimate | undefined;
    replaces: Offer | undefined;
    notPlaced: string | undefined;
  }
  /**
   * `least`: the least payout that the user has agreed to. `isAgain`: a second signature, because the
   * price moved within the user's tolerance.
   */
  | { name: "signing"; offer: Offer; least: bigint; isAgain: boolean }
  | { name: "sending"; offer: Offer; least: bigint }
  /** `signedFirst`: the first signed offer, if the bet was placed at another payout. */
  | { name: "placed"; thesisId: number; offer: Offer; signedFirst?: Offer };

export type QuotedStage = Extract<Stage, { name: "quoted" }>;
export type PlacedStage = Extract<Stage, { name: "placed" }>;
/** The stages with a quote that is not a bet yet. */
export type LiveStage = Exclude<Extract<Stage, { offer: Offer }>, PlacedStage>;

/** The least payout at which a bet is placed without asking again. */
export function leastOf(stage: LiveStage, tolerancePercent: number): bigint {
  return "least" in stage ? stage.least : leastPayout(stage.offer.quote, tolerancePercent);
}

/** Failures that the next answer to an estimate replaces. */
const PASSING_CODES: ReadonlySet<string> = new Set([
  ...["RANGE_BROKEN", "OUTSIDE_RANGE", "RANGE_TOO_NARROW", "PAYOUT_TOO_LOW"],
  ...["ORACLE_STALE", "PRICE_STALE", "PRICE_UNAVAILABLE", "PRICE_MOVED", "PRICE_IMPROVED"],
  ...["SERVICE_UNREACHABLE", "SERVICE_TIMEOUT", "NODE_UNREACHABLE", "NODE_TIMEOUT"],
]);

const LEFT = "The price had left the box.";
const CHANGED = "The odds had changed.";

/** Why a signed bet was not placed, if its explanation is about the box of now. */
const PAST_REASONS: Readonly<Record<string, string>> = {
  RANGE_BROKEN: LEFT,
  OUTSIDE_RANGE: LEFT,
  PRICE_MOVED: CHANGED,
  PRICE_IMPROVED: CHANGED,
  NOT_PLACED: "",
};

/**
 * The text of a failure. It stays after signing, since it is about money. Before that, it ends with
 * the next estimate, if that tells the same or shows that the failure has passed, and while the chart
 * says why nothing works.
 *
 * @param state The newest estimate, which is newer than the failure.
 */
export function failureText(
  { code, text, signedStartMs }: Failure,
  state: EstimateState | undefined,
  market: MarketState = "fresh",
): string {
  if (signedStartMs === undefined) {
    const hasPassed = state && ("failure" in state || PASSING_CODES.has(code));
    return hasPassed || market !== "fresh" ? "" : text;
  }
  const nothing = `No bet was placed on the box from ${formatTime(signedStartMs)}, ` +
    "nothing was taken.";
  return `${nothing} ${PAST_REASONS[code] ?? text}`.trim();
}
