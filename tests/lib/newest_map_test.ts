import assert from "node:assert/strict";
import { NewestMap } from "../../lib/newest_map.ts";

Deno.test("NewestMap: at capacity a new key evicts the oldest, a new value of a known key evicts nothing", () => {
  const map = new NewestMap<string, number>(2).set("a", 1).set("b", 2);
  map.set("b", 3);
  assert.deepEqual([...map], [["a", 1], ["b", 3]]);
  map.set("a", 4); // the newest now
  map.set("c", 5);
  assert.deepEqual([...map], [["a", 4], ["c", 5]]);
  map.clear();
  map.set("d", 6).set("e", 7).set("f", 8);
  assert.deepEqual([...map], [["e", 7], ["f", 8]]);
});
