import assert from "node:assert/strict";
import fc from "fast-check";
import {
  arrayElements,
  isTooComplex,
  memberSpan,
  memberText,
  replaceMember,
} from "../../lib/json_text.ts";

/** JSON text of any value, with any spacing. */
const jsonText = fc.tuple(fc.json({ maxDepth: 4 }), fc.constantFrom(0, 1, 2, "\t", "\r\n "))
  .map(([text, indent]) => JSON.stringify(JSON.parse(text), null, indent));

Deno.test("arrayElements: returns each element as written", () => {
  fc.assert(fc.property(fc.array(jsonText), fc.constantFrom("", " ", "\n\t"), (texts, space) => {
    const array = `${space}[${space}${texts.join(`${space},${space}`)}${space}]${space}`;
    assert.deepEqual(arrayElements(array), texts);
  }));
});

Deno.test("memberText: returns each member as written", () => {
  const members = fc.dictionary(fc.string(), jsonText, { maxKeys: 6 });
  fc.assert(fc.property(members, fc.constantFrom("", " ", "\n"), (dictionary, space) => {
    const parts = Object.entries(dictionary).map(([key, text]) =>
      `${space}${JSON.stringify(key)}${space}:${space}${text}${space}`
    );
    const object = `{${parts.join(",")}}`;
    for (const [key, text] of Object.entries(dictionary)) {
      assert.equal(memberText(object, key), text);
      assert.deepEqual(JSON.parse(replaceMember(object, key, '"new"'))[key], "new");
    }
    assert.equal(memberSpan(object, "no such key, I hope"), undefined);
  }));
});

Deno.test("memberText, replaceMember: keep text that parsing would change", () => {
  const text = '{ "id" : 12345678901234567890, "n":1.0e3, "s":"\\u0041\\/" }';
  assert.equal(memberText(text, "id"), "12345678901234567890");
  assert.equal(memberText(text, "n"), "1.0e3");
  assert.equal(replaceMember(text, "id", "7"), '{ "id" : 7, "n":1.0e3, "s":"\\u0041\\/" }');
});

Deno.test("memberText: of members with the same name the last is used, escaped names included", () => {
  assert.equal(memberText('{"id":1,"id":2}', "id"), "2");
  assert.equal(memberText('{"i\\u0064":3}', "id"), "3");
});

Deno.test("arrayElements, memberSpan: end on invalid JSON", () => {
  const letters = fc.constantFrom('"', "{", "}", "[", "]", ",", ":", "\\", "a", "x", " ");
  const scraps = fc.tuple(fc.constantFrom("", "{", '{"'), fc.array(letters))
    .map(([start, rest]) => start + rest.join(""));
  fc.assert(fc.property(scraps, (text) => {
    arrayElements(text);
    memberSpan(text, "a");
  }));
});

/** Levels of nesting, the number of members, arrays and objects, and that of commas. */
function complexityOf(value: unknown): { depth: number; parts: number; commas: number } {
  if (typeof value !== "object" || value === null) return { depth: 0, parts: 0, commas: 0 };
  const inner = Object.values(value).map(complexityOf);
  const members = Array.isArray(value) ? 0 : inner.length;
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    parts: inner.reduce((sum, { parts }) => sum + parts, 1 + members),
    commas: inner.reduce((sum, { commas }) => sum + commas, Math.max(0, inner.length - 1)),
  };
}

Deno.test("isTooComplex: agrees with a walk through the parsed value", () => {
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
      const { depth, parts, commas } = complexityOf(value);
      assert.equal(isTooComplex(json, { depth, parts, commas }), false);
      if (depth > 0) assert.equal(isTooComplex(json, { depth: depth - 1, parts }), true);
      if (commas > 0) {
        assert.equal(isTooComplex(json, { depth, parts, commas: commas - 1 }), true);
      }
      if (parts > 0) assert.equal(isTooComplex(json, { depth, parts: parts - 1 }), true);
    }),
  );
});

Deno.test("isTooComplex: terminates on invalid JSON", () => {
  for (const text of ['"', '["', "]]", "{{{", String.raw`"\\`]) {
    assert.equal(isTooComplex(text, { depth: 9, parts: 9 }), false);
  }
});
