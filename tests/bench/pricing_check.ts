/**
 * The checks of the pricing model that are too long for the test suite: quotes of the whole domain
 * against an independent evaluation, and the exact recursion against simulated paths. Run with
 * `deno run --allow-read --allow-env tests/bench/pricing_check.ts [quotes] [paths]`.
 */
import fc from "fast-check";
import { gaussian, seededRandom } from "../../lib/random.ts";
import { noTouchByStep } from "../../services/solver/pricing/discrete_no_touch.ts";
import { findFreeBet, SCENARIOS } from "../solver/pricing/no_free_bet.ts";

const quotes = Number(Deno.args[0] ?? 1_000_000);
const paths = Number(Deno.args[1] ?? 1_000_000);

/** Scenarios are drawn in pieces, each with its own seed, so that a finding can be repeated. */
const PIECE = 10_000;

function checkQuotes(): void {
  const startedAtMs = performance.now();
  let free = 0;
  for (let seed = 0; seed * PIECE < quotes; seed++) {
    const count = Math.min(PIECE, quotes - seed * PIECE);
    for (const scenario of fc.sample(SCENARIOS, { seed, numRuns: count })) {
      const found = findFreeBet(scenario);
      if (found === undefined) continue;
      free += 1;
      console.log(`seed ${seed}: worth ${found.worth}`, scenario);
    }
  }
  const seconds = (performance.now() - startedAtMs) / 1_000;
  console.log(`${quotes} quotes: ${free} worth more than they cost (${seconds.toFixed(0)} s)`);
}

function checkRecursion(): void {
  const random = seededRandom(1);
  console.log(`\nexact recursion against ${paths} paths`);
  for (
    const [toLower, toUpper, first, steps] of [
      [0, 3, 0, 10],
      [0.5, 0.5, 0, 5],
      [2, 2, 0, 10],
      [1, 8, 0.3, 9],
      [4, 6, 0, 20],
      [1, 2, 5, 9],
    ] as const
  ) {
    // Steps of a thousandth: the drift of a price without a trend then matters little, as in life.
    const deviation = 1e-3;
    const variance = deviation ** 2;
    const exact = noTouchByStep({
      toLower: toLower * deviation,
      toUpper: toUpper * deviation,
      first: { variance: first ** 2 * variance, drift: -(first ** 2) * variance / 2 },
      step: { variance, drift: -variance / 2 },
    }, steps)?.[steps] ?? Number.NaN;
    let survivors = 0;
    for (let path = 0; path < paths; path++) {
      let move = first === 0 ? 0 : first * gaussian(random) - first ** 2 * deviation / 2;
      let isInside = move >= -toLower && move <= toUpper;
      for (let step = 0; step < steps && isInside; step++) {
        move += gaussian(random) - deviation / 2;
        isInside = move >= -toLower && move <= toUpper;
      }
      if (isInside) survivors += 1;
    }
    const held = survivors / paths;
    const error = Math.sqrt(exact * (1 - exact) / paths);
    console.log(
      `${toLower} to ${toUpper}, first ${first}, ${steps} steps: exact ${
        exact.toFixed(6)
      }, simulated ${held.toFixed(6)}, ${((held - exact) / error).toFixed(1)} deviations`,
    );
  }
}

checkRecursion();
checkQuotes();
