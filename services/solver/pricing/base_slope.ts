import { z } from "zod";

/** Fewer windows determine no slope. */
const WINDOWS_MIN = 30;

/** One window counts as at most this far from its base. */
const LOG_MAX = 3;

/** State of a {@link BaseSlope}: weighted sums over windows, x the base and y the logarithm above it. */
export const baseSlopeSchema = z.object({
  weight: z.number().nonnegative(),
  x: z.number(),
  y: z.number(),
  xx: z.number().nonnegative(),
  xy: z.number(),
  yy: z.number().nonnegative(),
});

type State = z.output<typeof baseSlopeSchema>;

/**
 * How far windows go follows their base less than one to one: part of what lifts a base above its mean, or
 * lowers it, is chance. That part is learned by linear regression.
 *
 * How much of the slope counts follows from the data: what its square exceeds that of its standard error
 * (James and Stein, "Estimation with quadratic loss", 1961).
 */
export class BaseSlope {
  readonly #state: State;

  constructor(state?: State) {
    this.#state = structuredClone(state) ?? { weight: 0, x: 0, y: 0, xx: 0, xy: 0, yy: 0 };
  }

  /** What the distance of a base from the mean of all adds to the logarithm. */
  at(base: number): number {
    const { weight, ...sums } = this.#state;
    if (weight < WINDOWS_MIN) return 0;
    const [x, y] = [sums.x / weight, sums.y / weight];
    const xx = sums.xx / weight - x * x;
    const xy = sums.xy / weight - x * y;
    const yy = sums.yy / weight - y * y;
    if (xx <= 0) return 0;
    const slope = xy / xx;
    const variance = (yy - slope * xy) / (xx * weight);
    // Above 0, it would trust a base more than one to one.
    const shrunk = slope < 0 ? Math.min(0, slope - variance / slope) : 0;
    return shrunk * (base - x);
  }

  /**
   * Adds a window.
   *
   * @param log How far it went above its base.
   * @param keep What remains of the weight of all before.
   */
  add(base: number, log: number, weight: number, keep: number): void {
    const state = this.#state;
    const y = Math.max(-LOG_MAX, Math.min(LOG_MAX, log));
    const window = { weight: 1, x: base, y, xx: base * base, xy: base * y, yy: y * y };
    for (const name of ["weight", "x", "y", "xx", "xy", "yy"] as const) {
      state[name] = state[name] * keep + weight * window[name];
    }
  }

  toJSON(): State {
    return this.#state;
  }
}
