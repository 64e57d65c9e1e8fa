/** The stages of a bet, from draft to placed. */
import type { Offer } from "@rangemaker/client";
import type { EstimateState } from "../data/estimator.ts";

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
