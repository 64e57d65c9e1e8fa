import type { RandomSource } from "../../../lib/random.ts";
import type { Bet } from "../../../lib/protocol/bet.ts";
import type { PricedBet, PricingStrategy } from "./strategy.ts";

/** Random numbers are multiples of 2^-53, the resolution of the source. */
const RANDOM_BITS = 53n;

/**
 * The payout of the spec's mock: the bet times 1.05 + r · 0.05, r random in [0, 1). Only integers
 * are drawn, so rounding never leaves the range. A range without an integer belongs to a bet below
 * 10, whose payout is the bet itself.
 */
export class MockStrategy implements PricingStrategy {
  readonly name = "mock";
  readonly #random: RandomSource;

  constructor(random: RandomSource) {
    this.#random = random;
  }

  price({ betAmount }: Pick<Bet, "betAmount">): PricedBet {
    const lowest = (betAmount * 105n + 99n) / 100n;
    const highest = (betAmount * 110n) / 100n;
    if (lowest > highest) return { payout: betAmount };
    const r = BigInt(Math.floor(this.#random() * 2 ** Number(RANDOM_BITS)));
    return { payout: lowest + (((highest - lowest + 1n) * r) >> RANDOM_BITS) };
  }

  /** The mock uses no price that could move. */
  recheck(): void {}
}
