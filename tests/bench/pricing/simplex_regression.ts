/** Steps of the descent: far more than a handful of weights needs. */
const STEPS = 5_000;

/**
 * Least squares with weights that are not negative and add up to 1. It keeps sums, not rows. Solved
 * by exponentiated gradient (Kivinen and Warmuth, 1997).
 */
export class SimplexRegression {
  readonly #count: number;
  readonly #gram: number[][];
  readonly #moments: number[];
  #rows = 0;

  constructor(count: number) {
    this.#count = count;
    this.#gram = Array.from({ length: count }, () => new Array<number>(count).fill(0));
    this.#moments = new Array<number>(count).fill(0);
  }

  /** Adds a row. Where weights add up to 1, subtracting the features' mean changes no residual. */
  add(features: readonly number[], target: number): void {
    const mean = features.reduce((sum, value) => sum + value, 0) / this.#count;
    const centred = features.map((feature) => feature - mean);
    this.#rows += 1;
    centred.forEach((a, i) => {
      this.#moments[i]! += a * (target - mean); // as many as features
      centred.forEach((b, j) => this.#gram[i]![j]! += a * b);
    });
  }

  /** @returns Undefined without rows. */
  solve(): readonly number[] | undefined {
    if (this.#rows === 0) return undefined;
    let weights = new Array<number>(this.#count).fill(1 / this.#count);
    const scale = Math.max(1e-12, ...this.#gram.map((row, index) => row[index] ?? 0));
    for (let step = 0; step < STEPS; step++) {
      const exponents = weights.map((_, i) => {
        const predicted = weights.reduce((sum, other, j) => sum + other * this.#gram[i]![j]!, 0);
        return (this.#moments[i]! - predicted) / scale;
      });
      // A common factor changes nothing, and keeps the powers finite.
      const highest = Math.max(...exponents);
      const raised = weights.map((weight, i) => weight * Math.exp(exponents[i]! - highest));
      const total = raised.reduce((sum, weight) => sum + weight, 0);
      weights = raised.map((weight) => weight / total);
    }
    return weights;
  }
}
