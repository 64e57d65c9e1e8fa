/**
 * Nobody can turn the moment of a submission, or a signature that it saw, against somebody else.
 * `RANGEMAKER_SCHEDULES` sets the number of schedules; each has a seed of its own, which a failure
 * prints. `RANGEMAKER_TEST_SEED` sets the first one.
 */
import assert from "node:assert/strict";
import { seededRandom } from "../../lib/random.ts";
import { testSeed } from "../support/random.ts";
import { BetsSchedule } from "./bets_schedule.ts";

const SCHEDULES = Number(Deno.env.get("RANGEMAKER_SCHEDULES") ?? 80);
const STEPS = 120;

Deno.test("Bets: random schedules of users, strangers, rogue and dying solvers keep every promise", async () => {
  const first = testSeed();
  let committed = 0;
  for (let seed = first; seed < first + SCHEDULES; seed++) {
    const schedule = new BetsSchedule(seededRandom(seed));
    try {
      for (let step = 0; step < STEPS; step++) await schedule.step();
      await schedule.finish();
    } catch (thrown) {
      console.error(
        `Failing seed: run again with RANGEMAKER_TEST_SEED=${seed} RANGEMAKER_SCHEDULES=1`,
      );
      throw thrown;
    }
    committed += schedule.committed;
  }
  assert.ok(SCHEDULES < 20 || committed > SCHEDULES, `only ${committed} bets were opened`);
  console.log(`${SCHEDULES} schedules from seed ${first}: ${committed} bets opened`);
});
