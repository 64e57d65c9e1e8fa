/** What users sign, hashed and recovered as another library does it. */
import assert from "node:assert/strict";
import { TypedDataEncoder } from "ethers";
import * as fc from "fast-check";
import { hashTypedData } from "../../../lib/client/typed_data.ts";
import { checksumAddress } from "../../../lib/protocol/scalars.ts";
import { DEPOSIT_REQUEST_TYPE } from "../../../lib/protocol/deposit.ts";
import { QUOTE_TYPE } from "../../../lib/protocol/quote.ts";
import { parseFlatType, typedDataOf } from "../../../lib/protocol/typed_data.ts";

const hexText = (digits: number) =>
  fc.array(fc.constantFrom(..."0123456789abcdefABCDEF"), { minLength: digits, maxLength: digits })
    .map((all) => `0x${all.join("")}` as const);

const VALUES: Record<string, fc.Arbitrary<unknown>> = {
  address: hexText(40).map(checksumAddress),
  uint256: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  string: fc.string({ unit: "grapheme" }),
};

for (const type of [QUOTE_TYPE, DEPOSIT_REQUEST_TYPE]) {
  Deno.test(`hashTypedData: each ${type.primaryType} has the digest that ethers computes`, () => {
    const message = fc.record(
      Object.fromEntries(
        type.fields.map(({ name, type }) => [name, VALUES[type] ?? fc.constant(0)]),
      ),
    );
    fc.assert(fc.property(message, fc.integer({ min: 1 }), (message, chainId) => {
      const typedData = typedDataOf(type, chainId, message);
      const { EIP712Domain: _, ...types } = typedData.types;
      const expected = TypedDataEncoder.hash(typedData.domain, types, typedData.message);
      assert.equal(hashTypedData(typedData), expected);
    }));
  });
}

Deno.test("hashTypedData: a field of an unsupported type throws, instead of a wrong digest", () => {
  const typedData = typedDataOf(parseFlatType("Core:Other(bytes data)"), 1337, { data: "0x" });
  assert.throws(() => hashTypedData(typedData), /type bytes: not supported/);
});
