import { seededRandom } from "../../lib/random.ts";
import { testSeed } from "../support/random.ts";
import { HubWorld } from "./hub_world.ts";
import { ReadersWorld } from "./readers_world.ts";

/** Schedules in a run of the suite; RANGEMAKER_HUB_SCHEDULES plays any other number. */
const SCHEDULES = Number(Deno.env.get("RANGEMAKER_HUB_SCHEDULES") ?? 10_000);
const STEPS = 120;

Deno.test(`Hub: ${SCHEDULES} random schedules agree with a naive account`, () => {
  const first = testSeed();
  for (let seed = first; seed < first + SCHEDULES; seed += 1) {
    try {
      const world = new HubWorld(seededRandom(seed));
      for (let step = 0; step < STEPS; step += 1) world.step();
      world.settle();
    } catch (thrown) {
      console.error(
        `Failing schedule: run again with RANGEMAKER_TEST_SEED=${seed} RANGEMAKER_HUB_SCHEDULES=1`,
      );
      throw thrown;
    }
  }
});

/** The same of clients that read; RANGEMAKER_READER_SCHEDULES plays any other number. */
const READER_SCHEDULES = Number(Deno.env.get("RANGEMAKER_READER_SCHEDULES") ?? 50);
const READER_STEPS = 60;

Deno.test(`Hub: in ${READER_SCHEDULES} schedules of bursts, a client that reads misses nothing beside deaf ones`, async () => {
  const first = testSeed();
  for (let seed = first; seed < first + READER_SCHEDULES; seed += 1) {
    try {
      const world = new ReadersWorld(seededRandom(seed));
      await Promise.resolve(); // the node grants the subscription
      for (let step = 0; step < READER_STEPS; step += 1) world.step();
      world.settle();
    } catch (thrown) {
      console.error(
        `Failing schedule: run again with RANGEMAKER_TEST_SEED=${seed} RANGEMAKER_READER_SCHEDULES=1`,
      );
      throw thrown;
    }
  }
});
