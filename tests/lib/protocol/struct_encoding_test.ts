import assert from "node:assert/strict";
import fc from "fast-check";
import { keccak256 as keccakOfEthers } from "ethers";
import { hashTypedData } from "viem";
import { hashFlat } from "../../../lib/protocol/hashes.ts";
import { keccak256 } from "../../../lib/protocol/keccak.ts";
import { UINT256_MAX, UINT64_MAX } from "../../../lib/protocol/scalars.ts";
import {
  DOMAIN_TYPE,
  parseFlatType,
  signingDomain,
  typedDataDescriptionOf,
  typedDataSchema,
} from "../../../lib/protocol/typed_data.ts";

const ALL_KINDS = parseFlatType(
  "Core:All(address a,uint64 b,uint256 c,bytes32 d,bytes e,string f,uint64[] g)",
);

const hexBytes = (minLength: number, maxLength = minLength) =>
  fc.uint8Array({ minLength, maxLength }).map((bytes) => `0x${new Uint8Array(bytes).toHex()}`);

const message = fc.record({
  a: hexBytes(20),
  b: fc.bigInt(0n, UINT64_MAX),
  c: fc.bigInt(0n, UINT256_MAX),
  d: hexBytes(32),
  e: hexBytes(0, 100),
  f: fc.string({ unit: "grapheme" }),
  g: fc.array(fc.bigInt(0n, UINT64_MAX), { maxLength: 20 }),
});

Deno.test("hashFlat: agrees with viem on any message of any supported type", () => {
  fc.assert(
    fc.property(message, fc.integer({ min: 1, max: 2 ** 31 }), (fields, chainId) => {
      const theirs = hashTypedData({
        domain: signingDomain(chainId),
        types: { "Core:All": ALL_KINDS.fields },
        primaryType: "Core:All",
        message: fields,
      });
      assert.equal(hashFlat(ALL_KINDS, chainId, fields), theirs);
    }),
  );
});

const mismatches: [type: string, value: unknown][] = [
  ["uint64", UINT64_MAX + 1n],
  ["uint64", -1n],
  ["uint64", 1],
  ["uint64", undefined],
  ["uint256", UINT256_MAX + 1n],
  ["address", `0x${"1".repeat(38)}`],
  ["address", "1".repeat(40)],
  ["address", `0x${"1g".repeat(20)}`],
  ["address", `0x${"1".repeat(42)}`],
  ["bytes32", `0x${"1".repeat(66)}`],
  ["bytes32", `0x${"1".repeat(63)}g`],
  ["bytes", "0x123"],
  ["bytes", "0xzz"],
  ["bytes", "zz0x11"],
  ["string", 5],
  ["uint64[]", [UINT64_MAX + 1n]],
  ["uint64[]", "1"],
  ["int8", 1n],
];

for (const [type, value] of mismatches) {
  Deno.test(`hashFlat: ${String(value).slice(0, 24)} is refused as ${type}`, () => {
    const one = parseFlatType(`Core:One(${type} n)`);
    assert.throws(() => hashFlat(one, 1, { n: value }), /^(Type|Syntax)Error: /);
  });
}

Deno.test("keccak256: agrees with ethers on bytes of any length", () => {
  // Blocks have 136 bytes: errors of the padding would show there.
  const bytes = fc.uint8Array({ maxLength: 3 * 136 + 1, size: "max" });
  fc.assert(
    fc.property(bytes, (message) => {
      assert.equal(`0x${keccak256(message).toHex()}`, keccakOfEthers(message));
    }),
  );
});

Deno.test("keccak256: agrees with ethers on messages larger than one chunk of the library", () => {
  const message = new Uint8Array(50_000).map((_, index) => index * 7);
  assert.equal(`0x${keccak256(message).toHex()}`, keccakOfEthers(message));
});

Deno.test("keccak256: later hashes do not overwrite a returned one", () => {
  const first = keccak256(new Uint8Array([1]));
  const kept = first.slice();
  keccak256(new Uint8Array([2]));
  assert.deepEqual(first, kept);
});

const type = parseFlatType("Core:Pair(address user,uint256 amount)");
const fields = [{ name: "user", type: "address" }, { name: "amount", type: "uint256" }];

Deno.test("parseFlatType: reads names and types from a type string", () => {
  const typeString = "Core:Pair(address user,uint256 amount)";
  assert.deepEqual(type, { primaryType: "Core:Pair", fields, typeString });
  const names = DOMAIN_TYPE.fields.map(({ name }) => name);
  assert.deepEqual([DOMAIN_TYPE.primaryType, ...names], [
    "EIP712Domain",
    "name",
    "version",
    "chainId",
  ]);
});

Deno.test("typedDataDescriptionOf: describes domain, types and primary type for a wallet", () => {
  const description = typedDataDescriptionOf(type, 5);
  assert.deepEqual(description, {
    domain: { name: "Core", version: "1", chainId: 5 },
    types: { "Core:Pair": fields },
    primaryType: "Core:Pair",
  });
  assert.deepEqual(typedDataSchema.parse(description), description);
  description.types["Core:Pair"]?.forEach((field) => field.name = "changed");
  assert.deepEqual(type.fields, fields, "the description is a copy");
});
