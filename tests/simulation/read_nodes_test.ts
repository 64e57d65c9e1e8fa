import { casesFrom, playSchedules } from "../support/random.ts";
import { ReadNodesWorld } from "./read_nodes_world.ts";

const SCHEDULES = casesFrom("TEST_READ_NODES_SCHEDULES", 300);
const STEPS = 120;

Deno.test(
  `Read nodes: over ${SCHEDULES} random schedules of nodes that fail, lag and return, nobody sees a head twice, and the hub follows a node that lives`,
  { timeout: 60_000 + 100 * SCHEDULES },
  async () => {
    await playSchedules("TEST_READ_NODES_SCHEDULES", SCHEDULES, async (random) => {
      const world = new ReadNodesWorld(random);
      for (let step = 0; step < STEPS; step += 1) await world.step();
      await world.settle();
    });
  },
);
