import assert from "node:assert/strict";
import { z } from "zod";
import { describeInput, startOf } from "../../../lib/protocol/describe_input.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";

const schema = z.object({
  id: z.number().int().positive(),
  names: z.array(z.string()).max(1).optional(),
  user: z.string().regex(/^0x/, "Expected an address").optional(),
}).strict();

const cases: readonly (readonly [unknown, string])[] = [
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
];

for (const [input, message] of cases) {
  Deno.test(`describeInput: ${message.slice(0, 70)}`, () => {
    const { error } = schema.safeParse(input);
    assert.equal(describeInput(error ?? assert.fail("It fits"), input), message);
  });
}

Deno.test("describeInput: a rule about a field of what is no object received nothing there", () => {
  const rule = z.unknown().superRefine((_, { addIssue }) =>
    addIssue({ code: "custom", path: ["a", "b"], message: "No" })
  );
  for (const input of [{ a: null }, { a: 5 }, { a: "text" }, {}, null]) {
    const { error } = rule.safeParse(input);
    assert.equal(
      describeInput(error ?? assert.fail("It fits"), input),
      "a.b: No: received nothing",
    );
  }
});

Deno.test("startOf: shows the start of a text", () => {
  assert.equal(startOf('{"a'), String.raw`"{\"a"`);
  assert.equal(startOf("x".repeat(61)), `"${"x".repeat(60)}…"`);
});

Deno.test("describeInput: a private key in a wrong field is not shown", () => {
  const key = DEV_ACCOUNTS.solver.privateKey;
  const input = { id: 1, user: key.slice(2) };
  const { error } = schema.safeParse(input);
  const message = describeInput(error ?? assert.fail("It fits"), input);
  assert.equal(message, 'user: Expected an address: received "…"');
});
