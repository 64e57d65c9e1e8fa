import assert from "node:assert/strict";
import { keccak256 as keccakOfEthers } from "ethers";
import fc from "fast-check";
import { keccak256 } from "../../../lib/protocol/keccak.ts";

Deno.test("keccak256: agrees with ethers on bytes of any length", () => {
  // Blocks of 136 bytes are where padding can go wrong.
  const bytes = fc.uint8Array({ maxLength: 3 * 136 + 1, size: "max" });
  fc.assert(
    fc.property(bytes, (message) => {
      assert.equal(`0x${keccak256(message).toHex()}`, keccakOfEthers(message));
    }),
  );
});

Deno.test("keccak256: agrees with ethers on more than the library takes in one piece", () => {
  const message = new Uint8Array(50_000).map((_, index) => index * 7);
  assert.equal(`0x${keccak256(message).toHex()}`, keccakOfEthers(message));
});

Deno.test("keccak256: a hash stays what it is while others are made", () => {
  const first = keccak256(new Uint8Array([1]));
  const kept = first.slice();
  keccak256(new Uint8Array([2]));
  assert.deepEqual(first, kept);
});

Deno.test("keccak256: a part of a buffer is hashed alone", () => {
  const buffer = new Uint8Array([9, 1, 2, 3, 9]);
  assert.deepEqual(keccak256(buffer.subarray(1, 4)), keccak256(new Uint8Array([1, 2, 3])));
});
