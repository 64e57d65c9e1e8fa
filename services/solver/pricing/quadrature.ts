/** Points and weights on [-1, 1] that integrate smooth functions. */
export interface Quadrature {
  readonly points: readonly number[];
  readonly weights: readonly number[];
}

/** Newton's method doubles the correct digits per step: this many steps give all 16. */
const NEWTON_STEPS = 8;

/** The Gauss-Legendre rule with `count` points: the roots of the Legendre polynomial. */
export function gaussLegendre(count: number): Quadrature {
  const points: number[] = [];
  const weights: number[] = [];
  for (let i = 0; i < count; i++) {
    let x = Math.cos(Math.PI * (i + 0.75) / (count + 0.5));
    let slope = 0;
    for (let step = 0; step < NEWTON_STEPS; step++) {
      let [before, value] = [1, x];
      for (let n = 2; n <= count; n++) {
        [before, value] = [value, ((2 * n - 1) * x * value - (n - 1) * before) / n];
      }
      slope = count * (x * value - before) / (x * x - 1);
      x -= value / slope;
    }
    points.push(x);
    weights.push(2 / ((1 - x * x) * slope * slope));
  }
  return { points, weights };
}

/** The integral of a function from `from` to `to`. */
export function integrate(
  { points, weights }: Quadrature,
  from: number,
  to: number,
  f: (x: number) => number,
): number {
  const half = (to - from) / 2;
  const middle = (to + from) / 2;
  let sum = 0;
  for (let i = 0; i < points.length; i++) {
    sum += weights[i]! * f(middle + half * points[i]!); // one weight per point
  }
  return half * sum;
}

/**
 * The Gauss-Hermite rule with three points: the mean of a smooth function of a normal variable is
 * the weighted mean of three values: at the variable's mean, and {@link OUTER_DEVIATIONS} from it.
 */
export const CENTRE_WEIGHT = 2 / 3;
export const OUTER_WEIGHT = 1 / 6;
export const OUTER_DEVIATIONS: number = Math.sqrt(3);
