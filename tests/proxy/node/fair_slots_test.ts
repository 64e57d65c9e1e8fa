import assert from "node:assert/strict";
import fc from "fast-check";
import { FairSlots } from "../../../services/proxy/node/fair_slots.ts";

Deno.test("FairSlots: callers take turns, however many items one has", () => {
  const turns = new FairSlots<string>({ slots: 1, perCaller: 1, waitingMax: 10_000 });
  assert(turns.tryStart("a"));
  for (let n = 0; n < 4_000; n += 1) assert(turns.wait("a", `a${n}`));
  for (const item of ["b0", "b1"]) assert(turns.wait("b", item));
  assert(turns.wait("c", "c0"));
  const order = [turns.finish("a")];
  for (let n = 0; n < 5; n += 1) order.push(turns.finish(order.at(-1)?.[0] ?? ""));
  assert.deepEqual(order, ["a0", "b0", "c0", "a1", "b1", "a2"]);
  assert.equal(turns.items().length, 4_000 + 3 - 6);
});

Deno.test("FairSlots: a caller may queue as many items as places are free, so others can queue too", () => {
  const turns = new FairSlots<number>({ slots: 0, perCaller: 0, waitingMax: 8 });
  const waits = (caller: string) => {
    let count = 0;
    while (turns.wait(caller, count)) count += 1;
    return count;
  };
  assert.deepEqual(["a", "b", "c", "d"].map(waits), [4, 2, 1, 1]);
});

Deno.test("FairSlots: a removed or cleared item gets no slot", () => {
  const turns = new FairSlots<string>({ slots: 1, perCaller: 1, waitingMax: 9 });
  assert(turns.tryStart("a"));
  turns.wait("a", "a0");
  for (const item of ["b0", "b1"]) turns.wait("b", item);
  turns.remove("a", "a0");
  turns.remove("b", "b0");
  turns.remove("b", "unknown");
  turns.remove("unknown", "b1");
  assert.deepEqual(turns.items(), ["b1"]);
  assert.equal(turns.finish("a"), "b1");
  turns.wait("c", "c0");
  assert.deepEqual(turns.clear(), ["c0"]);
  assert(turns.tryStart("x"));
});

Deno.test("FairSlots: for random calls, no limit is exceeded and no slot stays unused while an item may run", () => {
  const limits = { slots: 4, perCaller: 2, waitingMax: 20 };
  const step = fc.tuple(fc.constantFrom("ask", "end"), fc.constantFrom("a", "b", "c", "d"));
  fc.assert(fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
    const turns = new FairSlots<string>(limits);
    const used: string[] = [];
    const waiting: string[] = [];
    for (const [kind, caller] of steps) {
      if (kind === "ask") {
        if (turns.tryStart(caller)) used.push(caller);
        else if (turns.wait(caller, caller)) waiting.push(caller);
      } else if (used.includes(caller)) {
        used.splice(used.indexOf(caller), 1);
        const next = turns.finish(caller);
        if (next !== undefined) {
          waiting.splice(waiting.indexOf(next), 1);
          used.push(next);
        }
      }
      const usedBy = (key: string) => used.filter((each) => each === key).length;
      assert(used.length <= limits.slots && waiting.length <= limits.waitingMax);
      assert(used.every((key) => usedBy(key) <= limits.perCaller));
      const isFree = used.length < limits.slots;
      assert(!waiting.some((key) => isFree && usedBy(key) < limits.perCaller));
    }
  }));
});
