import assert from "node:assert/strict";
import { ListMap } from "../../../services/proxy/hub/list_map.ts";

Deno.test("ListMap: keeps values of one key in their order, and forgets a key without values", () => {
  const map = new ListMap<number>();
  for (const [key, value] of [["a", 1], ["b", 2], ["a", 3]] as const) map.add(key, value);
  assert.deepEqual([...map.all()], [1, 3, 2]);
  map.delete("a", 1);
  map.delete("a", 2);
  assert.deepEqual([map.of("a"), map.of("none")], [[3], []]);
  map.delete("a", 3);
  map.delete("b", 2);
  assert.equal(map.isEmpty, true);
});
