import { z } from "zod";
import { DAY_MS } from "../../../lib/time.ts";

/** Observations per batch, which counts as one observation: those of a day share its market. */
const BATCH_OBSERVATIONS = 4;

const sumsSchema = z.object({
  weight: z.number().nonnegative(),
  held: z.number().nonnegative(),
});

/** State of a {@link DecayedShare}. */
export const decayedShareSchema = z.object({
  total: sumsSchema,
  batch: sumsSchema.extend({ index: z.number() }),
  /** Sums over finished batches. */
  squares: sumsSchema.extend({ product: z.number().nonnegative() }),
});

type State = z.output<typeof decayedShareSchema>;

/** A share of observations that held, in which older ones count less. */
export class DecayedShare {
  readonly #batchMs: number;
  readonly #state: State;

  /** @param lengthMs Duration of one observation. */
  constructor(lengthMs: number, state?: State) {
    this.#batchMs = Math.max(DAY_MS, BATCH_OBSERVATIONS * lengthMs);
    this.#state = structuredClone(state) ?? {
      total: { weight: 0, held: 0 },
      batch: { weight: 0, held: 0, index: 0 },
      squares: { weight: 0, held: 0, product: 0 },
    };
  }

  /**
   * Adds an observation that is later than all before.
   *
   * @param decay Share of the weight of all earlier observations that remains, 0 to 1.
   */
  add(timeMs: number, held: boolean, weight: number, decay: number): void {
    const { total, batch, squares } = this.#state;
    const index = Math.floor(timeMs / this.#batchMs);
    if (index !== batch.index) this.#endBatch(index);
    squares.weight *= decay * decay;
    squares.held *= decay * decay;
    squares.product *= decay * decay;
    for (const sums of [total, batch]) {
      sums.weight = sums.weight * decay + weight;
      sums.held = sums.held * decay + (held ? weight : 0);
    }
  }

  /** Share that held; undefined without observations. */
  get share(): number | undefined {
    const { weight, held } = this.#state.total;
    return weight === 0 ? undefined : held / weight;
  }

  /**
   * Standard error of {@link share} around a probability, by chance alone. It follows from the
   * differences between batches, but is at least that of independent observations.
   */
  error(probability: number): number {
    const { total, batch, squares } = this.#state;
    const independent = probability * (1 - probability) / total.weight;
    const share = total.held / total.weight;
    const weights = squares.weight + batch.weight ** 2;
    const spread = squares.held + batch.held ** 2 -
      2 * share * (squares.product + batch.held * batch.weight) + share * share * weights;
    // Batches of different weights count as this many equal ones.
    const batches = total.weight ** 2 / weights;
    const between = batches > 1 ? spread / total.weight ** 2 * batches / (batches - 1) : 0;
    return Math.sqrt(Math.max(independent, between));
  }

  toJSON(): State {
    return this.#state;
  }

  #endBatch(index: number): void {
    const { batch, squares } = this.#state;
    squares.weight += batch.weight ** 2;
    squares.held += batch.held ** 2;
    squares.product += batch.held * batch.weight;
    Object.assign(batch, { weight: 0, held: 0, index });
  }
}
