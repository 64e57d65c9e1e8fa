import assert from "node:assert/strict";
import { tryParseJson } from "../../lib/json.ts";

Deno.test("tryParseJson: returns the value, null included, and undefined for invalid JSON", () => {
  assert.deepEqual(tryParseJson('{"a":[1,"2"]}'), { a: [1, "2"] });
  assert.equal(tryParseJson("null"), null);
  for (const text of ["", "OK", "{", '"\\x"']) assert.equal(tryParseJson(text), undefined);
});
