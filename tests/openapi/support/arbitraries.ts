/** Requests made from a document alone: those that it allows, and those that it only nearly does. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { DocumentedService } from "./documented_service.ts";
import type { JsonObject, JsonSchema } from "./open_api.ts";

/** Makes values that fit a schema of a document. */
export function fitting(service: DocumentedService, schema: JsonSchema): fc.Arbitrary<unknown> {
  const { type, minimum, maximum, ...own } = service.resolve(schema);
  if ("const" in own) return fc.constant(own.const);
  if (type === "object") return fittingObject(service, own);
  if (type === "string" && own.pattern !== undefined) {
    const { pattern, maxLength = Infinity } = own;
    return fc.stringMatching(new RegExp(pattern)).filter(({ length }) => length <= maxLength);
  }
  if (type === "integer") {
    const least = minimum ?? Number.MIN_SAFE_INTEGER;
    const most = maximum ?? Number.MAX_SAFE_INTEGER;
    return fc.oneof(fc.integer({ min: least, max: most }), fc.constantFrom(least, most));
  }
  return assert.fail(`No values for ${JSON.stringify(schema)}`);
}

function fittingObject(
  service: DocumentedService,
  { properties = {}, required = [] }: JsonSchema,
): fc.Arbitrary<unknown> {
  const fields = Object.entries(properties)
    .map(([name, schema]): [string, fc.Arbitrary<unknown>] => [name, fitting(service, schema)]);
  return fc.record(Object.fromEntries(fields), { requiredKeys: required, noNullPrototype: true });
}

/** Some fields of each of two bodies of one shape. */
export function blended(
  first: fc.Arbitrary<JsonObject>,
  second: fc.Arbitrary<unknown>,
): fc.Arbitrary<JsonObject> {
  return fc.tuple(first, second, fc.infiniteStream(fc.boolean())).map(([one, other, coins]) => {
    const taken = Object.entries(Object(other)).filter(() => coins.next().value);
    return { ...one, ...Object.fromEntries(taken) };
  });
}

/** What a field may be replaced by: values that parsers and schemas like to disagree on. */
const oddValue = fc.oneof(
  fc.jsonValue({ maxDepth: 1 }),
  fc.constantFrom<unknown>(
    -1,
    0.5,
    1e300,
    2 ** 53,
    "",
    "0",
    "-1",
    "1e3",
    "01",
    "0x",
    "18446744073709551615",
    "18446744073709551616",
    (2n ** 256n).toString(),
    "BOX",
    "x".repeat(2_000),
    `0x${"11".repeat(600)}`,
    null,
  ),
  fc.maxSafeInteger(),
  fc.bigInt({ min: 0n, max: 2n ** 65n }).map(String),
);

/** A body with one field, at any depth, replaced, removed or added. */
export function mutated(bodies: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const change = fc.oneof(
    { arbitrary: oddValue.map((value) => ({ value })), weight: 4 },
    { arbitrary: fc.constant({ value: undefined }), weight: 1 },
  );
  return fc.tuple(bodies, fc.nat(), fc.string(), change, fc.integer({ min: 0, max: 9 }))
    .map(([body, at, name, { value }, dice]) => {
      const copy = structuredClone(body);
      const places = fieldsOf(copy);
      const place = places[at % Math.max(1, places.length)];
      if (place === undefined || dice === 0) return { ...Object(copy), [name]: value };
      place.holder[place.field] = value;
      return copy;
    });
}

function fieldsOf(value: unknown): { holder: JsonObject; field: string }[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const holder: JsonObject = Object(value);
  return Object.entries(holder).flatMap(([field, inner]) => [
    { holder, field },
    ...fieldsOf(inner),
  ]);
}

/** Text that is rarely JSON, and bytes that are not even text. */
export const garbage: fc.Arbitrary<string | Uint8Array<ArrayBuffer>> = fc.oneof(
  fc.constantFrom("", "{", "null", "[]", '"text"', "1e400", '{"user":1e400}', "\u0000", "\ufeff{}"),
  fc.json(),
  fc.string({ unit: "binary" }),
  fc.uint8Array({ maxLength: 64 }).map((bytes) => new Uint8Array(bytes)),
);
