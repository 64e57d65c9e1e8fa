import assert from "node:assert/strict";
import fc from "fast-check";
import { endOfString, isTooComplex } from "../../../lib/protocol/json_complexity.ts";

/** Levels of nesting, and the number of members, arrays and objects. */
function complexityOf(value: unknown): { depth: number; parts: number } {
  if (typeof value !== "object" || value === null) return { depth: 0, parts: 0 };
  const inner = Object.values(value).map(complexityOf);
  const members = Array.isArray(value) ? 0 : inner.length;
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    parts: inner.reduce((sum, { parts }) => sum + parts, 1 + members),
  };
}

Deno.test("isTooComplex: agrees with a walk through the value, at its bounds", () => {
  // What the scan looks for, inside of strings too.
  const text = fc.string({ unit: fc.constantFrom(...'"\\[]{}:,a') });
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, text, fc.integer(), tie("list"), tie("object")),
    list: fc.array(tie("value"), { maxLength: 4 }),
    object: fc.dictionary(text, tie("value"), { maxKeys: 4 }),
  }));
  fc.assert(
    fc.property(value, fc.constantFrom(0, 2), (value, indent) => {
      const json = JSON.stringify(value, null, indent);
      const { depth, parts } = complexityOf(value);
      assert.equal(isTooComplex(json, { depth, parts }), false);
      if (depth > 0) assert.equal(isTooComplex(json, { depth: depth - 1, parts }), true);
      if (parts > 0) assert.equal(isTooComplex(json, { depth, parts: parts - 1 }), true);
    }),
  );
});

const strings: readonly [text: string, start: number, end: number][] = [
  ['"" ', 0, 2],
  ['"ab","c"', 0, 4],
  ['"ab","c"', 5, 8],
  [String.raw`"a\"b"`, 0, 6],
  [String.raw`"a\\"b"`, 0, 5],
  [String.raw`"\\\""]`, 0, 6],
  ['"ab', 0, 3],
  [String.raw`"ab\"`, 0, 5],
];

for (const [text, start, end] of strings) {
  Deno.test(`endOfString: the string at ${start} of ${text} ends at ${end}`, () =>
    assert.equal(endOfString(text, start), end));
}

Deno.test("isTooComplex: ends on text that is no JSON", () => {
  for (const text of ['"', '["', "]]", "{{{", String.raw`"\\`]) {
    assert.equal(isTooComplex(text, { depth: 9, parts: 9 }), false);
  }
});
