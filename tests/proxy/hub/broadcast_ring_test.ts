import assert from "node:assert/strict";
import fc from "fast-check";
import { BroadcastRing } from "../../../services/proxy/hub/broadcast_ring.ts";

/** Messages to add, and sometimes that earlier ones are no longer needed. */
const operations = fc.array(fc.oneof(
  { weight: 9, arbitrary: fc.nat() },
  { weight: 1, arbitrary: fc.constant("clear" as const) },
));

Deno.test("BroadcastRing: returns the newest messages by position, until it is cleared", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), operations, (capacity, operations) => {
      const ring = new BroadcastRing<number>(capacity);
      const all: number[] = [];
      let clearedTo = 0;
      for (const message of operations) {
        if (message === "clear") {
          ring.clear();
          clearedTo = all.length;
        } else {
          const oldest = all.length - capacity;
          const replaced = ring.push(message);
          assert.equal(replaced, oldest < clearedTo ? undefined : all[oldest]);
          all.push(message);
        }
        const start = Math.max(clearedTo, all.length - capacity);
        assert.deepEqual([ring.start, ring.end], [start, all.length]);
        for (let position = -1; position <= all.length; position += 1) {
          assert.equal(ring.at(position), position < start ? undefined : all[position]);
        }
      }
    }),
  );
});
