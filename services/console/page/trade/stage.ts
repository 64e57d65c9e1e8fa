/** Where a bet is on its way. */
import type { Estimate, Offer } from "@rangemaker/client";
import type { EstimateState } from "../data/estimator.ts";
import { explain, type Explanation } from "../data/explain.ts";

/** Why the last attempt failed. */
export interface Failure extends Explanation {
  /** It failed after the user had pressed the button that signs: the text says whether money moved. */
  isSigningFailure: boolean;
}

export type Stage =
  | { name: "draft"; failure?: Failure }
  | { name: "quoting" }
  /**
   * `estimated`: what this bet would have paid a moment before. `replaces`: the last quote that the
   * user saw; it has expired, or was refused because the price moved.
   */
  | {
    name: "quoted";
    offer: Offer;
    estimated: Estimate | undefined;
    replaces: Offer | undefined;
    isRefused: boolean;
  }
  /** `isAgain`: the price moved, and the user accepts what the bet pays now. */
  | { name: "signing"; offer: Offer; isAgain: boolean }
  | { name: "sending"; offer: Offer }
  /** `signedFirst`: what the user pressed the button for, if the bet pays something else. */
  | { name: "placed"; thesisId: number; offer: Offer; signedFirst?: Offer };

export type QuotedStage = Extract<Stage, { name: "quoted" }>;

/** Reasons that come and go with the price: an estimate says that they are over. */
const PRICE_CODES: ReadonlySet<string> = new Set([
  ...["RANGE_BROKEN", "OUTSIDE_RANGE", "RANGE_TOO_NARROW", "PAYOUT_TOO_LOW"],
  ...["ORACLE_STALE", "PRICE_STALE", "PRICE_UNAVAILABLE", "PRICE_MOVED", "PRICE_IMPROVED"],
]);

/** Reasons of the connection: an estimate says that it is back. */
const NETWORK_CODES: ReadonlySet<string> = new Set([
  ...["SERVICE_UNREACHABLE", "SERVICE_TIMEOUT", "NODE_UNREACHABLE", "NODE_TIMEOUT"],
]);

const NOTHING_TAKEN = "No bet was placed, nothing was taken.";
const OFFLINE = "You are offline; nothing was taken.";

/**
 * A failure in words, as far as it is true and nothing else on the slip says it; empty if nothing is
 * left. One of the network is over with it.
 *
 * @param state The newest estimate, which is younger than the failure.
 * @param shown What the slip says anyway.
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
  const reason = hasMoved || shown.startsWith(text) ? "" : text;
  if (!isSigningFailure) return reason;
  return `${NOTHING_TAKEN} ${hasMoved ? "The price had moved." : reason}`.trim();
}
