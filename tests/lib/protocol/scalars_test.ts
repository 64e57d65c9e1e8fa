import assert from "node:assert/strict";
import fc from "fast-check";
import { z } from "zod";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import {
  addressSchema,
  hash32Schema,
  positiveUint64Schema,
  signatureSchema,
  timestampSchema,
  UINT256_MAX,
  uint256Schema,
  UINT64_MAX,
  uint64Schema,
} from "../../../lib/protocol/scalars.ts";
import { describeInput, describeIssue } from "../../../lib/protocol/describe_input.ts";

const address = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

Deno.test("uint64Schema: parses every value in its range", () => {
  fc.assert(fc.property(fc.bigInt(0n, UINT64_MAX), (value) => {
    assert.equal(uint64Schema.parse(value.toString()), value);
  }));
  assert.equal(uint256Schema.parse(UINT256_MAX.toString()), UINT256_MAX);
});

const refused: readonly (readonly [string, z.core.$ZodType, readonly unknown[]])[] = [
  ["addressSchema", addressSchema, [
    address.slice(0, 41),
    `${address}0`,
    address.slice(2),
    `0X${address.slice(2)}`,
    `0x${"g".repeat(40)}`,
    `${address}\n`,
    `0${address}`,
    "",
    1,
    null,
    undefined,
    [address],
  ]],
  ["hash32Schema", hash32Schema, [
    ...[address, `0x${"0".repeat(63)}`, `0x${"0".repeat(65)}`, `00x${"0".repeat(64)}`, 0, null],
  ]],
  ["signatureSchema", signatureSchema, [
    ...["0x1", "1b", `0x${"00".repeat(512)}`, "0xzz", `00x${"11".repeat(65)}`, 5, null],
  ]],
  ["uint64Schema", uint64Schema, [
    (UINT64_MAX + 1n).toString(),
    "-1",
    "+1",
    "01",
    `0${"9".repeat(19)}`,
    "1.0",
    "1e3",
    "0x10",
    "",
    " 1",
    "1\n",
    "9".repeat(100_000),
    1,
    1n,
    null,
  ]],
  ["uint256Schema", uint256Schema, [(UINT256_MAX + 1n).toString(), "9".repeat(79), 1]],
  ["timestampSchema", timestampSchema, [-1, 1.5, NaN, Infinity, 2 ** 53, "1", null, undefined]],
];

for (const [name, schema, values] of refused) {
  for (const value of values) {
    const shown = Deno.inspect(value).slice(0, 60);
    Deno.test(`${name}: ${shown} is refused with the rule it breaks`, () => {
      const parsed = z.safeParse(schema, value);
      assert(!parsed.success);
      assert.match(describeIssue(parsed.error), /^Expected /);
    });
  }
}

Deno.test("uint64Schema, uint256Schema: their JSON Schema accepts the same numbers, up to the largest", () => {
  for (const [schema, max] of [[uint64Schema, UINT64_MAX], [uint256Schema, UINT256_MAX]] as const) {
    const { $defs = {} } = z.toJSONSchema(schema, { io: "input" });
    const pattern = new RegExp(Object.values($defs)[0]?.pattern ?? assert.fail("No pattern"));
    const agree = (text: string) =>
      assert.equal(pattern.test(text), z.safeParse(schema, text).success, text);
    fc.assert(fc.property(fc.bigInt(0n, 2n * max), (value) => agree(value.toString())));
    for (let off = -20n; off <= 20n; off++) {
      assert.equal(pattern.test((max + off).toString()), off <= 0n);
      agree((max + off).toString());
    }
    fc.assert(fc.property(fc.stringMatching(pattern), agree));
  }
});

Deno.test("describeIssue: names the broken rule and the field", () => {
  const schema = z.object({ price: uint64Schema, range: z.object({ lower: uint64Schema }) });
  const issueOf = (value: unknown) => describeIssue(schema.safeParse(value).error ?? assert.fail());
  const range = { lower: "1" };
  for (const price of ["-1", "1x", "x1", "01", "1.5"]) {
    assert.match(issueOf({ price, range }), /^price: Expected a decimal integer without sign/);
  }
  for (const price of ["18446744073709551616", "99999999999999999999"]) {
    assert.match(issueOf({ price, range }), /^price: Expected an integer of at most 64 bits$/);
  }
  assert.match(issueOf({ price: 1, range }), /^price: Expected a decimal integer as a string$/);
  assert.equal(issueOf({ price: "1", range: 5 }), "range: Expected an object");
  assert.equal(issueOf("text"), "Expected an object");
  const broken = z.int().safeParse(1.5).error ?? assert.fail();
  assert.equal(describeIssue(broken), "Expected a whole number");
  assert.equal(describeIssue(new z.ZodError([])), "Invalid value");
});

Deno.test("positiveUint64Schema: has its own error for 0, and otherwise that of uint64Schema", () => {
  const schema = positiveUint64Schema("Expected a bet");
  const issueOf = (value: unknown, of: z.core.$ZodType = schema) => {
    const { error } = z.safeParse(of, value);
    return error && describeIssue(error);
  };
  assert.equal(issueOf("0"), "Expected a bet");
  fc.assert(fc.property(fc.bigInt(1n, 2n * UINT64_MAX), (value) => {
    assert.equal(issueOf(value.toString()), issueOf(value.toString(), uint64Schema));
  }));
  for (const value of ["00", "-0", "", "1.5", null]) {
    assert.equal(issueOf(value), issueOf(value, uint64Schema));
  }
});

const inputSchema = z.object({
  id: z.number().int().positive(),
  names: z.array(z.string()).max(1).optional(),
  user: z.string().regex(/^0x/, "Expected an address").optional(),
}).strict();

/** A private key in a wrong field. */
const KEY = DEV_ACCOUNTS.solver.privateKey;

const inputCases: readonly (readonly [unknown, string])[] = [
  [undefined, "Expected an object: received nothing"],
  [[], "Expected an object: received an empty array"],
  [{}, "id: Expected a number: received nothing"],
  [{ id: "1" }, 'id: Expected a number: received "1"'],
  [{ id: 0 }, "id: Expected more than 0: received 0"],
  [{ id: {} }, "id: Expected a number: received an object"],
  [{ id: 1, names: ["a", "b"] }, "names: Expected at most 1 item: received an array"],
  [{ id: 1, names: [null] }, "names.0: Expected a string: received null"],
  [{ id: 1, nme: 2 }, "Unknown key nme: received an object"],
  [{ id: 1, user: "z".repeat(99) }, `user: Expected an address: received "${"z".repeat(60)}…"`],
  [{ id: 1, user: "z".repeat(60) }, `user: Expected an address: received "${"z".repeat(60)}"`],
  [{ id: 1, user: KEY.slice(2) }, 'user: Expected an address: received "…"'],
];

for (const [input, message] of inputCases) {
  Deno.test(`describeInput: ${message.slice(0, 70)}`, () => {
    const { error } = inputSchema.safeParse(input);
    assert.equal(describeInput(error ?? assert.fail("It fits"), input), message);
  });
}

Deno.test('describeInput: a missing nested field is described as "received nothing"', () => {
  const rule = z.unknown().superRefine((_, { addIssue }) =>
    addIssue({ code: "custom", path: ["a", "b"], message: "No" })
  );
  for (const input of [{ a: null }, { a: 5 }, { a: "text" }, {}, null]) {
    const { error } = rule.safeParse(input);
    const message = describeInput(error ?? assert.fail("It fits"), input);
    assert.equal(message, "a.b: No: received nothing");
  }
});
