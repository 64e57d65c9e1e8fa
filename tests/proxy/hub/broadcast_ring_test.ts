import assert from "node:assert/strict";
import fc from "fast-check";
import { BroadcastRing } from "../../../services/proxy/hub/broadcast_ring.ts";

Deno.test("BroadcastRing: keeps what an array that forgets its head would keep", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.array(fc.nat()), (capacity, messages) => {
      const ring = new BroadcastRing<number>(capacity);
      const all: number[] = [];
      for (const message of messages) {
        const gaveWay = ring.push(message);
        assert.equal(gaveWay, all[all.length - capacity]);
        all.push(message);
        const start = Math.max(0, all.length - capacity);
        assert.deepEqual([ring.start, ring.end], [start, all.length]);
        for (let position = -1; position <= all.length; position += 1) {
          assert.equal(ring.at(position), position < start ? undefined : all[position]);
        }
      }
    }),
  );
});

Deno.test("BroadcastRing: a capacity that holds nothing is refused", () => {
  for (const capacity of [0, -1, 1.5, NaN, Infinity]) {
    assert.throws(() => new BroadcastRing(capacity), {
      message: `Ring capacity must be a whole number of at least 1: ${capacity}`,
    });
  }
});
