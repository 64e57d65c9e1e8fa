/** The stages of a bet, from draft to placed. */
import { effect, type Signal, untracked } from "@preact/signals";
import type { Estimate, Offer } from "@rangemaker/client";
import type { Session } from "../data/session.ts";
import type { EstimateState } from "../data/estimator.ts";
import { explain, type Explanation } from "../data/explain.ts";
import { isDecided } from "../data/live_breaches.ts";
import { formatTime } from "../format.ts";

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

const OFFLINE = "You are offline; nothing was taken.";

/**
 * The text of a failure, without parts that no longer apply or that the slip shows elsewhere; may
 * be empty. A failure of the network ends with the next answer.
 *
 * @param state The newest estimate, which is newer than the failure.
 * @param shown Text that the slip shows in any case.
 */
export function failureText(
  { code, text, signedStartMs }: Failure,
  state: EstimateState | undefined,
  shown: string,
  isOffline: boolean,
): string {
  const isSigned = signedStartMs !== undefined && code !== "NOT_PLACED"; // says it itself
  if (NETWORK_CODES.has(code)) {
    if (isOffline) return isSigned ? OFFLINE : "";
    const isAnswered = state !== undefined &&
      ("estimate" in state || !NETWORK_CODES.has(explain(state.failure).code));
    if (isAnswered) return "";
  }
  const hasMoved = state !== undefined && "estimate" in state && PRICE_CODES.has(code);
  const isNewer = shown !== "" && state !== undefined && "failure" in state &&
    explain(state.failure).code === code; // with other figures, perhaps
  const reason = hasMoved || isNewer || shown.startsWith(text) ? "" : text;
  if (!isSigned) return reason;
  const nothing = `No bet was placed on the box from ${formatTime(signedStartMs)}, ` +
    "nothing was taken.";
  return `${nothing} ${hasMoved ? "The odds had changed." : reason}`.trim();
}

/**
 * Drops a failure to sign when the next bet is decided, so that it is not read as that bet's outcome.
 */
export function dropFailureAtOutcome(
  stage: Signal<Stage>,
  { user }: Pick<Session, "user">,
): void {
  let decided = 0;
  effect(() => {
    const before = decided;
    decided = user.value?.portfolio.theses.value.filter(isDecided).length ?? 0;
    if (decided > before) {
      untracked(() => {
        const { value } = stage;
        const isSigned = value.name === "draft" && value.failure?.signedStartMs !== undefined;
        if (isSigned) stage.value = { name: "draft" };
      });
    }
  });
}
