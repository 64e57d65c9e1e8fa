import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** A number in [0, 1): `Math.random`, or a seeded generator for repeatable runs. */
export type RandomSource = () => number;

/** A seeded random source for simulations and tests, never for secrets. */
export function seededRandom(seed: number): RandomSource {
  const generator = xoroshiro128plus(seed);
  return () => uniformFloat64(generator);
}

/** A normally distributed number, mean 0 and deviation 1 (Box and Muller). */
export function gaussian(random: RandomSource): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return radius * Math.cos(2 * Math.PI * random());
}
