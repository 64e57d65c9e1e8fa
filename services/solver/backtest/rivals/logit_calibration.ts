/** Logits are counted in bins of a tenth, from -8 to 8. */
const LOGIT_MAX = 8;
const BINS_PER_UNIT = 10;
const BINS = 2 * LOGIT_MAX * BINS_PER_UNIT + 1;

/** Weight of the identity, in observations: a few outcomes must not bend the scale. */
const PRIOR = 20;

const NEWTON_STEPS = 25;

/** Recalibrates probabilities by logit p' = a + b logit p, fitted by maximum likelihood (Platt, 1999). */
export class LogitCalibration {
  readonly #boxes = new Float64Array(BINS);
  readonly #held = new Float64Array(BINS);
  #line: { a: number; b: number } | undefined;

  /** Adds an outcome. */
  add(probability: number, held: boolean): void {
    const bin = Math.round((logit(probability) + LOGIT_MAX) * BINS_PER_UNIT);
    this.#boxes[bin]! += 1; // the logit is bounded
    if (held) this.#held[bin]! += 1;
    this.#line = undefined;
  }

  /** The recalibrated probability. */
  apply(probability: number): number {
    const { a, b } = this.#line ??= this.#fit();
    return 1 / (1 + Math.exp(-(a + b * logit(probability))));
  }

  #fit(): { a: number; b: number } {
    let [a, b] = [0, 1];
    for (let step = 0; step < NEWTON_STEPS; step++) {
      let [ga, gb, haa, hab, hbb] = [-PRIOR * a, -PRIOR * (b - 1), PRIOR, 0, PRIOR];
      for (let bin = 0; bin < BINS; bin++) {
        const boxes = this.#boxes[bin]!;
        if (boxes === 0) continue;
        const z = bin / BINS_PER_UNIT - LOGIT_MAX;
        const p = 1 / (1 + Math.exp(-(a + b * z)));
        const residual = this.#held[bin]! - boxes * p;
        const weight = boxes * p * (1 - p);
        ga += residual;
        gb += residual * z;
        haa += weight;
        hab += weight * z;
        hbb += weight * z * z;
      }
      const determinant = haa * hbb - hab * hab;
      a += (hbb * ga - hab * gb) / determinant;
      b += (haa * gb - hab * ga) / determinant;
    }
    return { a, b };
  }
}

function logit(probability: number): number {
  const value = Math.log(probability / (1 - probability));
  return Math.max(-LOGIT_MAX, Math.min(LOGIT_MAX, value));
}
