import { seededRandom } from "../../lib/random.ts";
import { testSeed } from "../support/random.ts";
import { ReadNodesWorld } from "./read_nodes_world.ts";

/** Schedules in a run of the suite; RANGEMAKER_READ_NODES_SCHEDULES plays any other number. */
const SCHEDULES = Number(Deno.env.get("RANGEMAKER_READ_NODES_SCHEDULES") ?? 300);
const STEPS = 120;

Deno.test(`Read nodes: over ${SCHEDULES} random schedules of nodes that fail, lag and return, nobody sees a head twice, and the hub follows a node that lives`, async () => {
  const first = testSeed();
  for (let seed = first; seed < first + SCHEDULES; seed += 1) {
    try {
      const world = new ReadNodesWorld(seededRandom(seed));
      for (let step = 0; step < STEPS; step += 1) await world.step();
      await world.settle();
    } catch (thrown) {
      console.error(
        `Failing schedule: run again with RANGEMAKER_TEST_SEED=${seed} RANGEMAKER_READ_NODES_SCHEDULES=1`,
      );
      throw thrown;
    }
  }
});
