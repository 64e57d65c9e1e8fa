/** The stages of a bet, from draft to placed, and what a quote changes of what the user saw before. */
import type { Offer } from "@rangemaker/client";
import type { EstimateState } from "../data/estimator.ts";
import { formatCents, formatTime } from "../parts/format.ts";

export type Stage =
  /**
   * `failure`: why there is no quote, or why a signed bet was not placed. It stays until the box
   * changes. `isSigned`: it is about money.
   */
  | { name: "draft"; failure?: string; isSigned?: boolean }
  | { name: "quoting" }
  /**
   * `before`: what the user saw last of this bet, an estimate or a quote. `refusal`: why that quote,
   * which the user signed, was not placed.
   */
  | {
    name: "quoted";
    offer: Offer;
    before: { payout: bigint; isQuote: boolean } | undefined;
    refusal?: string;
  }
  /**
   * `first`: what the user decided to sign. `isAgain`: a further signature, because the odds changed
   * within the user's tolerance.
   */
  | { name: "signing"; offer: Offer; first: Offer; isAgain: boolean }
  | { name: "sending"; offer: Offer; first: Offer }
  /** `signedFirst`: the first signed offer, if the bet was placed at another payout. */
  | { name: "placed"; thesisId: number; offer: Offer; signedFirst?: Offer };

export type QuotedStage = Extract<Stage, { name: "quoted" }>;
export type PlacedStage = Extract<Stage, { name: "placed" }>;
/** The stages with a quote that is not a bet yet. */
export type LiveStage = Exclude<Extract<Stage, { offer: Offer }>, PlacedStage>;

/** The payout that the user saw last of this bet: of a quote, or of an estimate of it. */
export function seenPayout(stage: Stage, state: EstimateState | undefined): QuotedStage["before"] {
  if (stage.name === "quoted") return { payout: stage.offer.quote.payout, isQuote: true };
  return state && "estimate" in state
    ? { payout: state.estimate.payout, isQuote: false }
    : undefined;
}

/** Smaller changes of a payout, as a share, are not announced. */
const QUIET_SHARE = 0.01;

/** A payout that is smaller by this share gets a warning. */
const WARNED_SHARE = 0.05;

/** By which share a quote pays more than what the user saw before. */
function changeOf({ before, offer: { quote } }: QuotedStage): number {
  return before === undefined ? 0 : Number(quote.payout) / Number(before.payout) - 1;
}

/** Whether a quote pays so much less than the last quote or estimate that it needs a warning. */
export function isMuchLess(stage: QuotedStage): boolean {
  return changeOf(stage) <= -WARNED_SHARE;
}

/** What has changed since the last quote or estimate, announced before signing; may be empty. */
export function changesOf(stage: QuotedStage): string {
  const { before, refusal, offer: { quote } } = stage;
  const share = changeOf(stage);
  const from = formatTime(quote.startTime);
  const changes = refusal ? [refusal, `New quote, from ${from}.`] : [];
  if (before !== undefined && Math.abs(share) >= QUIET_SHARE) {
    const seen = `${formatCents(before.payout)} USDC`;
    const than = refusal
      ? `than the ${seen} that you signed for`
      : `than the ${before.isQuote ? "quote before" : "estimate"} of ${seen}`;
    const percent = Math.round(100 * Math.abs(share));
    changes.push(`It pays ${percent} % ${share < 0 ? "less" : "more"} ${than}.`);
  }
  return changes.join(" ");
}
