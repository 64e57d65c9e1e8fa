/** The normal distribution, to about 15 digits (G. West, "Better approximations", 2005). */

/** Above this, a continued fraction replaces the rational approximation. */
const RATIONAL_MAX = 5 * Math.SQRT2;

/** Probability of less than `-z`, for `z` at least 0. */
function lowerTail(z: number): number {
  const density = Math.exp(-z * z / 2);
  if (z < RATIONAL_MAX) {
    return density * numerator(z) / denominator(z);
  }
  const fraction = z + 1 / (z + 2 / (z + 3 / (z + 4 / (z + 0.65))));
  return density / fraction / Math.sqrt(2 * Math.PI);
}

// Unrolled: these make up most of the time of a price.
function numerator(z: number): number {
  return (((((3.52624965998911e-2 * z + 0.700383064443688) * z + 6.37396220353165) * z +
                33.912866078383) * z + 112.079291497871) * z + 221.213596169931) * z +
    220.206867912376;
}

function denominator(z: number): number {
  return ((((((8.83883476483184e-2 * z + 1.75566716318264) * z + 16.064177579207) * z +
                    86.7807322029461) * z + 296.564248779674) * z + 637.333633378831) * z +
        793.826512519948) * z + 440.413735824752;
}

/** Probability that a standard normal variable is below `z`. */
export function normalBelow(z: number): number {
  return z > 0 ? 1 - lowerTail(z) : lowerTail(-z);
}

/**
 * Probability that a standard normal variable lies between two bounds; negative if they are
 * swapped. Precise in the upper tail too, where subtracting two values near 1 would lose digits.
 */
export function normalBetween(from: number, to: number): number {
  if (from > 0 && to > 0) return lowerTail(from) - lowerTail(to);
  return normalBelow(to) - normalBelow(from);
}
