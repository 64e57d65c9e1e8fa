import assert from "node:assert/strict";
import { Schedule } from "../../../services/node/chain/schedule.ts";
import { withSeed } from "../../support/random.ts";

Deno.test("Schedule: after random additions, due items come in the order of a sorted list", () =>
  withSeed((random) => {
    const below = (bound: number) => Math.floor(random() * bound);
    const schedule = new Schedule<number>();
    let items: { time: number; item: number }[] = [];
    let added = 0;
    for (let step = 0; step < 2_000; step++) {
      for (let more = below(4); more > 0; more--) {
        const time = step + below(20) - 5;
        schedule.add(time, added += 1);
        items.push({ time, item: added });
      }
      items.sort((a, b) => a.time - b.time || a.item - b.item);
      const max = below(5) || Infinity;
      assert.equal(schedule.isDue(step), items.some(({ time }) => time <= step));
      const due = items.filter(({ time }) => time <= step).slice(0, max);
      assert.deepEqual(schedule.removeDue(step, max), due.map(({ item }) => item));
      items = items.filter((each) => !due.includes(each));
    }
  }));
