import { LIMITS } from "../../../services/solver/shared/limits.ts";
import type {
  Maker,
  TrialBox,
  TrialKind,
  TrialQuote,
} from "../../../services/solver/backtest/maker.ts";
import type { SlotPrice } from "../../../services/solver/backtest/slots.ts";

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

  quote(box: TrialBox, kind: TrialKind, nowMs: number): TrialQuote | undefined {
    const probability = this.probability(box, kind, nowMs);
    if (probability === undefined) return undefined;
    const ratio = Math.min(Number(LIMITS.maxPayoutRatio), (1 - this.#margin) / probability);
    return { probability, ratio: ratio > 1 ? ratio : undefined };
  }

  /** Accepts until its margin is gone, without a recheck of its own. */
  accepts(box: TrialBox, kind: TrialKind, ratio: number, nowMs: number): boolean {
    const probability = this.probability(box, kind, nowMs);
    return probability !== undefined && probability * ratio <= 1;
  }
}
