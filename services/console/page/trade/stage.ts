/** The stages of a bet, from draft to placed. */
import type { Estimate, Offer } from "@rangemaker/client";
import type { EstimateState } from "../data/estimator.ts";
import { explain, type Explanation } from "../data/explain.ts";

/** Why the last attempt failed. */
export interface Failure extends Explanation {
  /** It failed after the user pressed "sign", so the text must say whether money moved. */
  isSigningFailure: boolean;
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
  /** `isAgain`: a second signature, because the price moved within the user's tolerance. */
  | { name: "signing"; offer: Offer; isAgain: boolean }
  | { name: "sending"; offer: Offer }
  /** `signedFirst`: the first signed offer, if the bet was placed at another payout. */
  | { name: "placed"; thesisId: number; offer: Offer; signedFirst?: Offer };

export type QuotedStage = Extract<Stage, { name: "quoted" }>;
export type PlacedStage = Extract<Stage, { name: "placed" }>;
/** The stages with a quote that is not a bet yet. */
export type LiveStage = Exclude<Extract<Stage, { offer: Offer }>, PlacedStage>;

/** Failures that depend on the price: a new estimate shows that they no longer apply. */
const PRICE_CODES: ReadonlySet<string> = new Set([
  ...["RANGE_BROKEN", "OUTSIDE_RANGE", "RANGE_TOO_NARROW", "PAYOUT_TOO_LOW"],
  ...["ORACLE_STALE", "PRICE_STALE", "PRICE_UNAVAILABLE", "PRICE_MOVED", "PRICE_IMPROVED"],
]);

/** Failures of the connection: a new estimate shows that it works again. */
const NETWORK_CODES: ReadonlySet<string> = new Set([
  ...["SERVICE_UNREACHABLE", "SERVICE_TIMEOUT", "NODE_UNREACHABLE", "NODE_TIMEOUT"],
]);

const NOTHING_TAKEN = "No bet was placed, nothing was taken.";
const OFFLINE = "You are offline; nothing was taken.";

/**
 * The text of a failure, without parts that no longer apply or that the slip shows elsewhere; may
 * be empty. A failure of the network ends with the next answer.
 *
 * @param state The newest estimate, which is newer than the failure.
 * @param shown Text that the slip shows in any case.
 */
export function failureText(
  { code, text, isSigningFailure }: Failure,
  state: EstimateState | undefined,
  shown: string,
  isOffline: boolean,
): string {
  if (NETWORK_CODES.has(code)) {
    if (isOffline) return isSigningFailure ? OFFLINE : "";
    const isAnswered = state !== undefined &&
      ("estimate" in state || !NETWORK_CODES.has(explain(state.failure).code));
    if (isAnswered) return "";
  }
  const hasMoved = state !== undefined && "estimate" in state && PRICE_CODES.has(code);
  const isNewer = shown !== "" && state !== undefined && "failure" in state &&
    explain(state.failure).code === code; // with other figures, perhaps
  const reason = hasMoved || isNewer || shown.startsWith(text) ? "" : text;
  if (!isSigningFailure) return reason;
  return `${NOTHING_TAKEN} ${hasMoved ? "The odds had changed." : reason}`.trim();
}
