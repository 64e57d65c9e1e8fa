import type { SlotPrice } from "./slots.ts";

/** A box that is tried: its bounds as numbers, prices as integers with 6 decimals. */
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

/** A maker's quote for a box. */
export interface TrialQuote {
  /** Probability that the box holds by its model; undefined if it has none. */
  probability: number | undefined;
  /** Payout over bet; undefined if it refuses the bet. */
  ratio: number | undefined;
}

/** A quote that users accepted at one moment. */
export interface TrialExecution {
  maker: number;
  /** False while it is held, and if its recheck refuses it. */
  isExecuted: boolean;
  /** Probability that the box holds, by the maker's model when it was executed. */
  probability: number | undefined;
}

/** A box from its quotes to its end. */
export interface Trial {
  box: TrialBox;
  kind: TrialKind;
  quotedAtMs: number;
  /** By index of the maker. */
  quotes: (TrialQuote | undefined)[];
  /** Bets count if they are executed. */
  bets: { user: string; execution: TrialExecution }[];
  /** Pending decisions of users and makers. */
  pendingDecisions: {
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
  quote(box: TrialBox, kind: TrialKind, nowMs: number): TrialQuote | undefined;
  /** Whether a quote may still be executed. */
  accepts(box: TrialBox, kind: TrialKind, ratio: number, nowMs: number): boolean;
  /** How long an accepted quote is held until its recheck, in milliseconds; 0 without it. */
  holdMs?(box: TrialBox, ratio: number): number;
  /** The recheck: whether a quote that was accepted {@link holdMs} ago is executed. */
  passesRecheck?(box: TrialBox, ratio: number): boolean;
  /** Called with the result of a box that the maker was asked about. */
  settle?(kind: TrialKind, quote: TrialQuote | undefined, held: boolean, endMs: number): void;
}
