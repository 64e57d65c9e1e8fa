import assert from "node:assert/strict";
import { getAddress } from "ethers";
import { checksumAddress } from "../../../lib/protocol/address.ts";
import { seededRandom } from "../../../lib/random.ts";

Deno.test("checksumAddress: an address in any case has the form that ethers gives it", () => {
  const random = seededRandom(1);
  for (let round = 0; round < 3_000; round++) { // three texts each: more than are cached
    const digits = Array.from({ length: 40 }, () => Math.floor(random() * 16).toString(16)).join(
      "",
    );
    const expected = getAddress(`0x${digits}`);
    for (const text of [`0x${digits}`, `0x${digits.toUpperCase()}`, expected]) {
      assert.equal(checksumAddress(text), expected);
    }
  }
});
