import { casesFrom, playSchedules } from "../support/random.ts";
import { HubWorld } from "./hub_world.ts";
import { ReadersWorld } from "./readers_world.ts";

const SCHEDULES = casesFrom("TEST_HUB_SCHEDULES", 10_000);
const STEPS = 120;

Deno.test(`Hub: ${SCHEDULES} random schedules agree with a naive account`, {
  timeout: 60_000 + 6 * SCHEDULES,
}, async () => {
  await playSchedules("TEST_HUB_SCHEDULES", SCHEDULES, (random) => {
    const world = new HubWorld(random);
    for (let step = 0; step < STEPS; step += 1) world.step();
    world.settle();
  });
});

/** Of clients that read. */
const READER_SCHEDULES = casesFrom("TEST_READER_SCHEDULES", 50);
const READER_STEPS = 60;

Deno.test(
  `Hub: in ${READER_SCHEDULES} schedules of bursts, a client that reads misses nothing beside deaf ones`,
  { timeout: 60_000 + 600 * READER_SCHEDULES },
  async () => {
    await playSchedules("TEST_READER_SCHEDULES", READER_SCHEDULES, async (random) => {
      const world = new ReadersWorld(random);
      await Promise.resolve(); // the node grants the subscription
      for (let step = 0; step < READER_STEPS; step += 1) world.step();
      world.settle();
    });
  },
);
