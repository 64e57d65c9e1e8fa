/** A box that is tried: its terms as numbers, prices as integers with 6 decimals. */
export interface TrialBox {
  lower: number;
  upper: number;
  startMs: number;
  endMs: number;
}

/** Properties that distinguish boxes in reports. */
export interface TrialKind {
  durationMs: number;
  /** Half width in deviations of the neutral move over the duration. */
  width: number;
}

/** A maker's offer for a box. */
export interface Offer {
  /** Probability that the box holds by its model; undefined if it has none. */
  probability: number | undefined;
  /** Payout over bet; undefined if it refuses the bet. */
  ratio: number | undefined;
}

/** A box from its quotes to its end. */
export interface Trial {
  box: TrialBox;
  kind: TrialKind;
  quotedMs: number;
  /** By index of the maker. */
  offers: (Offer | undefined)[];
  /** Bets that were placed: user and index of the maker. */
  bets: { user: string; maker: number }[];
  /** Users who have not decided yet; each is asked at every bar until it returns true. */
  undecided: ((nowMs: number, broken: boolean) => boolean)[];
  broken: boolean;
}
