import { z } from "zod";

/** State from which a {@link DecayedMean} continues after a restart. */
export const decayedMeanSchema = z.object({
  sum: z.number().nonnegative(),
  weight: z.number().nonnegative(),
});

/** A mean in which each value's weight halves every `halfLifeMs`. */
export class DecayedMean {
  readonly halfLifeMs: number;
  #sum = 0;
  #weight = 0;

  constructor(halfLifeMs: number, state?: z.output<typeof decayedMeanSchema>) {
    this.halfLifeMs = halfLifeMs;
    this.#sum = state?.sum ?? 0;
    this.#weight = state?.weight ?? 0;
  }

  /** The mean, or undefined before the first value. */
  get mean(): number | undefined {
    return this.#weight > 0 ? this.#sum / this.#weight : undefined;
  }

  /** Weight of all values, each 1 when it was added. */
  get weight(): number {
    return this.#weight;
  }

  decay(elapsedMs: number): void {
    const factor = 2 ** (-elapsedMs / this.halfLifeMs);
    this.#sum *= factor;
    this.#weight *= factor;
  }

  /** Adds a value at the current time. */
  add(value: number, weight = 1): void {
    this.#sum += value * weight;
    this.#weight += weight;
  }

  toJSON(): z.input<typeof decayedMeanSchema> {
    return { sum: this.#sum, weight: this.#weight };
  }
}
