import assert from "node:assert/strict";
import fc from "fast-check";
import { OpenRead, OpenReads } from "../../../services/proxy/read_socket/open_reads.ts";
import { withSeed } from "../../support/random.ts";
import { address } from "../hub/hub_scene.ts";
import { readNodesOf } from "../support.ts";

const { leader: node } = readNodesOf("node");

const read = (caller = "a") =>
  new OpenRead({ textAfterId: "", node, caller: address(caller), hasLargeAnswer: false }, 0);

const idOf = ({ state }: OpenRead) => state.at === "socket" ? state.id : assert.fail();

const callerOf = (open: OpenRead | undefined) => open?.read.caller.key;

Deno.test("OpenReads: an id finds its read only while that is open", () =>
  withSeed((random) => {
    const reads = new OpenReads({ slots: 8, perCaller: 8, waitingMax: 0 });
    const open = new Set<OpenRead>();
    const ids = new Set<number>();
    const ended: number[] = [];
    for (let n = 0; n < 2_000; n += 1) {
      const some = [...open][Math.floor(random() * open.size)];
      if (some !== undefined && random() < (open.size === 8 ? 0.5 : 0.4)) {
        reads.finish(some);
        open.delete(some);
        ended.push(idOf(some));
      } else {
        const added = read();
        assert.equal(reads.tryOpen(added), open.size < 8);
        if (added.state.at === "queue") continue;
        const { id } = added.state;
        open.add(added);
        assert(id > 0 && !ids.has(id), "An id is used once");
        ids.add(id);
      }
      assert.deepEqual(new Set(reads.listOpen()), open);
      assert.equal(reads.size, open.size);
      for (const each of open) assert.equal(reads.get(idOf(each)), each);
      for (const id of ended.slice(-20)) assert.equal(reads.get(id), undefined);
    }
    assert.equal(reads.get(0), undefined, "No read has the id of a check");
  }));

Deno.test("OpenReads: callers take turns, however many reads one has", () => {
  const reads = new OpenReads({ slots: 1, perCaller: 1, waitingMax: 10_000 });
  const first = read("a");
  assert(reads.tryOpen(first));
  const waiting = new Map<OpenRead, string>();
  const wait = (caller: string, count: number) => {
    for (let n = 0; n < count; n += 1) {
      const next = read(caller);
      assert(reads.wait(next));
      waiting.set(next, `${caller}${n}`);
    }
  };
  wait("a", 4_000);
  wait("b", 2);
  wait("c", 1);
  const order: (string | undefined)[] = [];
  let open: OpenRead | undefined = first;
  for (let n = 0; n < 6; n += 1) {
    open = reads.finish(open ?? assert.fail());
    order.push(open && waiting.get(open));
  }
  assert.deepEqual(order, ["a0", "b0", "c0", "a1", "b1", "a2"]);
  assert.equal(reads.listWaiting().length, 4_000 + 3 - 6);
});

Deno.test("OpenReads: as many reads of a caller may wait as places are free, so others can wait too", () => {
  const reads = new OpenReads({ slots: 0, perCaller: 0, waitingMax: 8 });
  const waits = (caller: string) => {
    let count = 0;
    while (reads.wait(read(caller))) count += 1;
    return count;
  };
  assert.deepEqual(["a", "b", "c", "d"].map(waits), [4, 2, 1, 1]);
});

Deno.test("OpenReads: a removed or cleared read gets no slot", () => {
  const reads = new OpenReads({ slots: 1, perCaller: 1, waitingMax: 9 });
  const [a, a0, b0, b1, c0] = ["a", "a", "b", "b", "c"].map(read);
  assert(a && a0 && b0 && b1 && c0);
  assert(reads.tryOpen(a));
  for (const each of [a0, b0, b1]) assert(reads.wait(each));
  for (const each of [a0, b0, read("b"), read("unknown")]) {
    assert.equal(reads.finish(each), undefined);
  }
  assert.deepEqual(reads.listWaiting(), [b1]);
  assert.equal(reads.finish(a), b1);
  assert(reads.wait(c0));
  assert.deepEqual(reads.clear(), [b1, c0]);
  assert.equal(reads.size, 0);
  assert(reads.tryOpen(read("x")));
});

Deno.test("OpenReads: a caller whose reads were all removed waits for its turn like a new one", () => {
  const reads = new OpenReads({ slots: 1, perCaller: 1, waitingMax: 9 });
  const [open, a0, b0, a1] = ["x", "a", "b", "a"].map(read);
  assert(open && a0 && b0 && a1 && reads.tryOpen(open));
  for (const each of [a0, b0]) assert(reads.wait(each));
  reads.finish(a0);
  assert(reads.wait(a1));
  assert.equal(reads.finish(open), b0);
  assert.equal(reads.finish(b0), a1);
});

Deno.test("OpenReads: for random calls, no limit is exceeded and no slot stays unused while a read may open", () => {
  const limits = { slots: 4, perCaller: 2, waitingMax: 20 };
  const step = fc.tuple(fc.constantFrom("ask", "end"), fc.constantFrom("a", "b", "c", "d"));
  fc.assert(fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
    const reads = new OpenReads(limits);
    for (const [kind, caller] of steps) {
      const some = reads.listOpen().find((open) => callerOf(open) === caller);
      if (kind === "end" && some !== undefined) reads.finish(some);
      else if (kind === "ask") {
        const next = read(caller);
        if (!reads.tryOpen(next)) reads.wait(next);
      }
      const openBy = (key: string) =>
        reads.listOpen().filter((open) => callerOf(open) === key).length;
      assert(reads.size <= limits.slots && reads.listWaiting().length <= limits.waitingMax);
      assert(["a", "b", "c", "d"].every((key) => openBy(key) <= limits.perCaller));
      const isFree = reads.size < limits.slots;
      const mayOpen = (waiting: OpenRead) => openBy(callerOf(waiting) ?? "") < limits.perCaller;
      assert(!(isFree && reads.listWaiting().some(mayOpen)));
    }
  }));
});
