import assert from "node:assert/strict";
import fc from "fast-check";
import {
  arrayElements,
  memberSpan,
  memberText,
  replaceMember,
} from "../../../services/proxy/shared/json_text.ts";

/** JSON text of any value, with any spacing. */
const jsonText = fc.tuple(fc.json({ maxDepth: 4 }), fc.constantFrom(0, 1, 2, "\t", "\r\n "))
  .map(([text, indent]) => JSON.stringify(JSON.parse(text), null, indent));

Deno.test("JSON text: arrayElements returns each element as written", () => {
  fc.assert(fc.property(fc.array(jsonText), fc.constantFrom("", " ", "\n\t"), (texts, space) => {
    const array = `${space}[${space}${texts.join(`${space},${space}`)}${space}]${space}`;
    assert.deepEqual(arrayElements(array), texts);
  }));
});

Deno.test("JSON text: returns each member of an object as written", () => {
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

Deno.test("JSON text: keeps text that parsing would change", () => {
  const text = '{ "id" : 12345678901234567890, "n":1.0e3, "s":"\\u0041\\/" }';
  assert.equal(memberText(text, "id"), "12345678901234567890");
  assert.equal(memberText(text, "n"), "1.0e3");
  assert.equal(
    replaceMember(text, "id", "7"),
    '{ "id" : 7, "n":1.0e3, "s":"\\u0041\\/" }',
  );
});

Deno.test("JSON text: of members with the same name the last is used, escaped names included", () => {
  assert.equal(memberText('{"id":1,"id":2}', "id"), "2");
  assert.equal(memberText('{"i\\u0064":3}', "id"), "3");
});

Deno.test("JSON text: every function ends on invalid JSON", () => {
  const letters = fc.constantFrom('"', "{", "}", "[", "]", ",", ":", "\\", "a", "x", " ");
  const scraps = fc.tuple(fc.constantFrom("", "{", '{"'), fc.array(letters))
    .map(([start, rest]) => start + rest.join(""));
  fc.assert(fc.property(scraps, (text) => {
    arrayElements(text);
    memberSpan(text, "a");
  }));
});
