/**
 * Requests made from the served documents against the live services: valid ones, nearly valid ones
 * and garbage. Every answer is a documented one. A request that the document forbids is refused;
 * one that it allows may break a rule, but is never refused for its form.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { signedRequest, withBridge } from "../bridge/support.ts";
import { execution, quoteRequest, withSolver } from "../solver/support.ts";
import { testSeed } from "../support/random.ts";
import {
  type Call,
  type CheckedAnswer,
  type DocumentedOperation,
  DocumentedService,
  type JsonObject,
  type JsonSchema,
  type ParameterObject,
} from "./support/documented_service.ts";
import { withOracle } from "./support/apps.ts";

/** Requests to one operation in one run. */
const RUNS = 200;

/** A service under test, and a body for each operation that leads to 200. */
interface Subject {
  name: string;
  run(test: (url: string) => Promise<void>): Promise<void>;
  /** Bodies that lead to 200, by operation. */
  bodies(url: string): Promise<Record<string, JsonObject>>;
}

const subjects: Subject[] = [
  {
    name: "Solver",
    run: (test) => withSolver(({ url }) => test(url)),
    async bodies(url) {
      return { quote: quoteRequest(), estimate: quoteRequest(), execute: await execution(url) };
    },
  },
  {
    name: "Bridge",
    run: (test) => withBridge(({ url }) => test(url)),
    bodies: () => Promise.resolve({ deposit: signedRequest() }),
  },
  {
    name: "Oracle",
    run: (test) => withOracle(({ url }) => test(url)),
    bodies: () => Promise.resolve({}),
  },
];

for (const { name, run, bodies } of subjects) {
  Deno.test(`${name}: every request is answered as its OpenAPI document says`, () =>
    run(async (url) => {
      const service = await DocumentedService.at(url);
      const good = await bodies(url);
      for (const operation of service.operations) {
        await assertHolds(operation, callsOf(service, operation, good), async (call) => {
          assertAgrees(service, operation, call, await service.call(operation.id, call));
        });
      }
    }));

  Deno.test(`${name}: a method that its OpenAPI document does not have is 405 with Allow`, () =>
    run(async (url) => {
      const service = await DocumentedService.at(url);
      for (const [path, methods] of Object.entries(service.document.paths)) {
        for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
          if (method.toLowerCase() in methods) continue;
          const response = await fetch(url + path.replaceAll(/\{\w+\}/g, "1"), { method });
          const allow = Object.keys(methods).map((name) => name.toUpperCase()).join(", ");
          assert.deepEqual([response.status, response.headers.get("allow")], [405, allow], path);
          const { code, error } = await response.json();
          assert.equal(code, "METHOD_NOT_ALLOWED");
          assert.match(error, new RegExp(`answers ${allow}: received ${method}`));
        }
      }
    }));
}

/** Runs a property; a failure names the seed and path that repeat it. */
async function assertHolds(
  { id, object }: DocumentedOperation,
  calls: fc.Arbitrary<Call>,
  check: (call: Call) => Promise<void>,
): Promise<void> {
  const takesInput = object.requestBody !== undefined || object.parameters.length > 0;
  const seed = testSeed();
  try {
    const numRuns = takesInput ? RUNS : 1;
    await fc.assert(fc.asyncProperty(calls, check), { numRuns, seed, endOnFailure: true });
  } catch (thrown) {
    console.error(`Failing seed of ${id}: run again with TEST_SEED=${seed}`);
    throw thrown;
  }
}

/** Every kind of call to an operation. */
function callsOf(
  service: DocumentedService,
  { id, object }: DocumentedOperation,
  good: Record<string, JsonObject>,
): fc.Arbitrary<Call> {
  return fc.record({
    path: textsOf(service, object.parameters.filter((parameter) => parameter.in === "path")),
    query: textsOf(service, object.parameters.filter((parameter) => parameter.in === "query")),
    body: bodiesOf(service, object.requestBody?.content["application/json"], good[id]),
    headers: fc.constantFrom<Record<string, string>>(
      {},
      { "content-type": "text/plain" },
      { "content-type": "application/json; charset=utf-7" },
    ),
  });
}

function bodiesOf(
  service: DocumentedService,
  media: { schema: object; example?: JsonObject } | undefined,
  good: JsonObject | undefined,
): fc.Arbitrary<Call["body"]> {
  if (media === undefined) return fc.constant(undefined);
  const fits = fitting(service, media.schema);
  const known = fc.constantFrom(...[good, media.example].filter((body) => body !== undefined));
  const valid = fc.oneof(fits, known, blended(known, fits));
  return fc.oneof(
    { arbitrary: valid.map((body) => JSON.stringify(body)), weight: 8 },
    { arbitrary: mutated(valid).map((body) => JSON.stringify(body)), weight: 8 },
    { arbitrary: garbage, weight: 3 },
  );
}

/** Parameters as text: mostly valid, otherwise any text that is possible in a path. */
function textsOf(
  service: DocumentedService,
  parameters: ParameterObject[],
): fc.Arbitrary<Record<string, string>> {
  const any = fc.oneof(
    fc.string({ minLength: 1, unit: "grapheme" }),
    fc.maxSafeInteger().map(String),
    fc.constantFrom("0", "00", "1e2", "a/b", "%", "?", "#", "9".repeat(200)),
  ).filter((text) => text !== "." && text !== "..");
  const fields = parameters.map(({ name, schema }): [string, fc.Arbitrary<string>] => [
    name,
    fc.oneof({ arbitrary: fitting(service, schema).map(String), weight: 3 }, any),
  ]);
  const requiredKeys = parameters.filter(({ required }) => required).map(({ name }) => name);
  return fc.record(Object.fromEntries(fields), { requiredKeys, noNullPrototype: true });
}

/** Checks an answer against the document, for its request. */
function assertAgrees(
  service: DocumentedService,
  operation: DocumentedOperation,
  call: Call,
  { status, body }: CheckedAnswer,
): void {
  const shown = `answered ${status}: ${JSON.stringify(body).slice(0, 300)}`;
  if (!isAllowed(service, operation, call)) {
    assert([400, 415].includes(status), `Not allowed by the document, ${shown}`);
  } else {
    const { error } = Object(body);
    assert(!String(error).startsWith("INVALID_REQUEST"), `Allowed by the document, ${shown}`);
  }
}

/** Whether the document has this request fit. */
function isAllowed(
  service: DocumentedService,
  operation: DocumentedOperation,
  call: Call,
): boolean {
  const parametersFit = operation.object.parameters.every(({ in: place, name, schema }, index) => {
    const text = call[place]?.[name];
    if (text === undefined) return true;
    const value = schema.type === "integer" && /^\d+$/.test(text) ? Number(text) : text;
    return service.fits(operation, ["parameters", String(index), "schema"], value);
  });
  if (operation.object.requestBody === undefined) return parametersFit;
  const place = ["requestBody", "content", "application/json", "schema"];
  const json = call.headers?.["content-type"] === "text/plain" ? undefined : jsonIn(call.body);
  return parametersFit && json !== undefined && service.fits(operation, place, json.value);
}

/** The JSON that a server reads in a body, or undefined for invalid JSON. */
function jsonIn(body: Call["body"]): { value: unknown } | undefined {
  const text = typeof body === "string" ? new TextEncoder().encode(body) : body;
  try {
    return { value: JSON.parse(new TextDecoder().decode(text)) };
  } catch {
    return undefined;
  }
}

/** Makes values that fit a schema of a document. */
function fitting(service: DocumentedService, schema: JsonSchema): fc.Arbitrary<unknown> {
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
function blended(
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
function mutated(bodies: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
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
const garbage: fc.Arbitrary<string | Uint8Array<ArrayBuffer>> = fc.oneof(
  fc.constantFrom("", "{", "null", "[]", '"text"', "1e400", '{"user":1e400}', "\u0000", "\ufeff{}"),
  fc.json(),
  fc.string({ unit: "binary" }),
  fc.uint8Array({ maxLength: 64 }).map((bytes) => new Uint8Array(bytes)),
);
