import { type RandomSource, seededRandom } from "../../lib/random.ts";

function numberFrom(variable: string, least: number): number | undefined {
  const given = Deno.env.get(variable);
  if (given === undefined) return undefined;
  if (/^\d+$/.test(given) && Number(given) >= least) return Number(given);
  throw new Error(`${variable}=${given}: expected a whole number of at least ${least}`);
}

/** How many cases a test plays: from a variable of the environment, else the usual number. */
export function casesFrom(variable: string, usual: number): number {
  return numberFrom(variable, 1) ?? usual;
}

/** A seed for this run: from TEST_SEED, else a new one. A test that fails prints it. */
export function testSeed(): number {
  return numberFrom("TEST_SEED", 0) ?? Math.floor(Math.random() * 2 ** 31);
}

/**
 * Plays schedules, each with a seed of its own, printing the seed of one that fails.
 *
 * @param variable Sets how many, in the environment.
 */
export async function playSchedules(
  variable: string,
  count: number,
  play: (random: RandomSource) => void | Promise<void>,
): Promise<void> {
  const first = testSeed();
  for (let seed = first; seed < first + count; seed += 1) {
    try {
      await play(seededRandom(seed));
    } catch (thrown) {
      console.error(`Failing schedule: run again with TEST_SEED=${seed} ${variable}=1`);
      throw thrown;
    }
  }
}

/** Runs a randomised test, printing the seed if it fails. */
export async function withSeed(
  run: (random: RandomSource, seed: number) => void | Promise<void>,
): Promise<void> {
  const seed = testSeed();
  try {
    await run(seededRandom(seed), seed);
  } catch (thrown) {
    console.error(`Failing seed: run again with TEST_SEED=${seed}`);
    throw thrown;
  }
}
