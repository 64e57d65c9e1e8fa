import type { RandomSource } from "../../lib/clock.ts";
import { seededRandom } from "../../lib/random.ts";

/** A seed for this run: from RANGEMAKER_TEST_SEED, else a new one. A test that fails prints it. */
export function testSeed(): number {
  const given = Deno.env.get("RANGEMAKER_TEST_SEED");
  return given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
}

/** Runs a randomised test, printing the seed if it fails. */
export async function withSeed(
  run: (random: RandomSource, seed: number) => void | Promise<void>,
): Promise<void> {
  const seed = testSeed();
  try {
    await run(seededRandom(seed), seed);
  } catch (thrown) {
    console.error(`Failing seed: run again with RANGEMAKER_TEST_SEED=${seed}`);
    throw thrown;
  }
}
