import assert from "node:assert/strict";
import { NewestMap } from "../../lib/newest_map.ts";

Deno.test("NewestMap: a further entry replaces the oldest, and none is lost for a new value", () => {
  const map = new NewestMap<string, number>(2).set("a", 1).set("b", 2);
  map.set("b", 3);
  assert.deepEqual([...map], [["a", 1], ["b", 3]]);
  map.set("a", 4); // the oldest still
  map.set("c", 5);
  assert.deepEqual([...map], [["b", 3], ["c", 5]]);
  map.clear();
  map.set("d", 6).set("e", 7).set("f", 8);
  assert.deepEqual([...map], [["e", 7], ["f", 8]]);
});
