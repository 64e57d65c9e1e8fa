/** Logits are counted in bins of a tenth, from -8 to 8. */
const LOGIT_MAX = 8;
const BINS_PER_UNIT = 10;
const BINS = 2 * LOGIT_MAX * BINS_PER_UNIT + 1;

/** Weight of the identity, in observations: a few outcomes must not bend the scale. */
const PRIOR = 20;

const NEWTON_STEPS = 25;

/** Halvings of a step that would lower the likelihood. */
const HALVINGS = 20;

interface Line {
  a: number;
  b: number;
}

/** Recalibrates probabilities: logit p' = a + b logit p, by maximum likelihood (Platt, 1999). */
export class LogitCalibration {
  readonly #boxes = new Float64Array(BINS);
  readonly #held = new Float64Array(BINS);
  #line: Line | undefined;

  add(probability: number, held: boolean): void {
    const bin = Math.round((logit(probability) + LOGIT_MAX) * BINS_PER_UNIT);
    this.#boxes[bin]! += 1; // the logit is bounded
    if (held) this.#held[bin]! += 1;
    this.#line = undefined;
  }

  apply(probability: number): number {
    const { a, b } = this.#line ??= this.#fit();
    return 1 / (1 + Math.exp(-(a + b * logit(probability))));
  }

  /**
   * Newton's method. A step is halved until the likelihood rises, since a full step may diverge.
   */
  #fit(): Line {
    let line: Line = { a: 0, b: 1 };
    let likelihood = this.#likelihood(line);
    for (let step = 0; step < NEWTON_STEPS; step++) {
      const change = this.#newtonStep(line);
      let share = 1;
      for (let halving = 0; halving < HALVINGS; halving++, share /= 2) {
        const next = { a: line.a + share * change.a, b: line.b + share * change.b };
        const reached = this.#likelihood(next);
        if (reached < likelihood) continue;
        [line, likelihood] = [next, reached];
        break;
      }
    }
    return line;
  }

  /** Logarithm of the likelihood, with the prior. */
  #likelihood({ a, b }: Line): number {
    let sum = -PRIOR / 2 * (a * a + (b - 1) ** 2);
    for (let bin = 0; bin < BINS; bin++) {
      const boxes = this.#boxes[bin]!; // one per bin, here and below
      if (boxes === 0) continue;
      const z = a + b * logitOf(bin);
      sum += this.#held[bin]! * z - boxes * (Math.max(0, z) + Math.log1p(Math.exp(-Math.abs(z))));
    }
    return sum;
  }

  #newtonStep({ a, b }: Line): Line {
    let [ga, gb, haa, hab, hbb] = [-PRIOR * a, -PRIOR * (b - 1), PRIOR, 0, PRIOR];
    for (let bin = 0; bin < BINS; bin++) {
      const boxes = this.#boxes[bin]!;
      if (boxes === 0) continue;
      const z = logitOf(bin);
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
    return { a: (hbb * ga - hab * gb) / determinant, b: (haa * gb - hab * ga) / determinant };
  }
}

/** The logit in the middle of a bin. */
function logitOf(bin: number): number {
  return bin / BINS_PER_UNIT - LOGIT_MAX;
}

function logit(probability: number): number {
  const value = Math.log(probability / (1 - probability));
  return Math.max(-LOGIT_MAX, Math.min(LOGIT_MAX, value));
}
