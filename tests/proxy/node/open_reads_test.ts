import assert from "node:assert/strict";
import { OpenRead, OpenReads } from "../../../services/proxy/node/open_reads.ts";
import { withSeed } from "../../support/random.ts";

const read = () => {
  const read = { method: "eth_call", textAfterId: "", node: 0, caller: "a", forwardedFor: "x" };
  return new OpenRead({ ...read, fitsSocket: true }, 0);
};

Deno.test("OpenReads: an id finds its read only while that is open", () =>
  withSeed((random) => {
    const reads = new OpenReads(8);
    const open = new Set<OpenRead>();
    const ids = new Set<number>();
    for (let n = 0; n < 2_000; n += 1) {
      const some = [...open][Math.floor(random() * open.size)];
      if (open.size === 8 || (some !== undefined && random() < 0.4)) {
        assert(some !== undefined);
        reads.delete(some);
        open.delete(some);
        assert.equal(reads.get(some.id), undefined);
      } else {
        const added = read();
        reads.add(added);
        open.add(added);
        assert(added.id > 0 && !ids.has(added.id), "An id is used once");
        ids.add(added.id);
      }
      assert.deepEqual(new Set(reads.all()), open);
      assert.equal(reads.size, open.size);
      for (const each of open) assert.equal(reads.get(each.id), each);
    }
    assert.equal(reads.get(0), undefined, "No read has the id of a check");
  }));

Deno.test("OpenReads: refuses more reads than it has slots", () => {
  const reads = new OpenReads(2);
  reads.add(read());
  reads.add(read());
  assert.throws(() => reads.add(read()), RangeError);
});
