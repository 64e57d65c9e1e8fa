import type { SlotPrice } from "./slots.ts";
import { LIMITS } from "../limits.ts";

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
  /** The probability that the payout is calculated from, if it is higher. */
  chargedProbability?: number | undefined;
  margin?: number | undefined;
  /** Payout over bet; undefined if it refuses the bet. */
  ratio: number | undefined;
}

/** A bet that was executed. */
export interface TrialBet {
  user: string;
  /** Index of the maker. */
  maker: number;
  /** Probability that the box holds, by the maker's model when it executed the bet. */
  probability: number | undefined;
}

/** A box from its quotes to its end. */
export interface Trial {
  box: TrialBox;
  kind: TrialKind;
  quotedMs: number;
  /** By index of the maker. */
  offers: (Offer | undefined)[];
  bets: TrialBet[];
  /** Pending decisions of users and makers. */
  undecided: {
    dueMs: number;
    /** @returns When to ask again; undefined once it is decided. */
    decide(nowMs: number): number | undefined;
  }[];
  isBroken: boolean;
}

/** A market maker in the backtest. It sees only prices, as they become known. */
export interface Maker {
  readonly name: string;
  /** Adds the newest price. */
  observe(slot: SlotPrice): void;
  /** @returns Undefined if it cannot quote yet. */
  offer(box: TrialBox, kind: TrialKind, nowMs: number): Offer | undefined;
  /** Whether an offer may still be executed. */
  accepts(box: TrialBox, kind: TrialKind, ratio: number, nowMs: number): boolean;
  /** How long an accepted offer waits for its recheck, in milliseconds; 0 without it. */
  holdMs?(box: TrialBox, ratio: number): number;
  /** The recheck: whether an offer that was accepted {@link holdMs} ago is executed. */
  confirms?(box: TrialBox, ratio: number): boolean;
  /** Called with the result of a box that the maker was asked about. */
  settle?(kind: TrialKind, offer: Offer | undefined, held: boolean, endMs: number): void;
}

/** A model that only has probabilities, as a maker with a margin. */
export abstract class ModelMaker implements Maker {
  abstract readonly name: string;
  readonly #margin: number;

  constructor(margin: number) {
    this.#margin = margin;
  }

  abstract observe(slot: SlotPrice): void;

  /** Probability that the box holds; undefined if the model has too little data. */
  abstract probability(box: TrialBox, kind: TrialKind, nowMs: number): number | undefined;

  offer(box: TrialBox, kind: TrialKind, nowMs: number): Offer | undefined {
    const probability = this.probability(box, kind, nowMs);
    if (probability === undefined) return undefined;
    const ratio = Math.min(Number(LIMITS.maxPayoutRatio), (1 - this.#margin) / probability);
    return { probability, margin: this.#margin, ratio: ratio > 1 ? ratio : undefined };
  }

  /** Accepts until its margin is gone, without a recheck of its own. */
  accepts(box: TrialBox, kind: TrialKind, ratio: number, nowMs: number): boolean {
    const probability = this.probability(box, kind, nowMs);
    return probability !== undefined && probability * ratio <= 1;
  }
}
