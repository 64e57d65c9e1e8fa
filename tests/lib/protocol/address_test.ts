import assert from "node:assert/strict";
import { getAddress } from "ethers";
import { checksumAddress } from "../../../lib/protocol/address.ts";
import { seededRandom } from "../../../lib/random.ts";

Deno.test("checksumAddress: an address in any case has the form that ethers gives it", () => {
  const random = seededRandom(1);
  const sizes = sizesOfMapsWith(/^0x[0-9a-fA-F]{40}$/, () => {
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
  assert.equal(Math.max(...sizes), 8_192, "callers choose addresses: the cache has a bound");
});

/** How many entries maps had, at each entry with a key like this. */
function sizesOfMapsWith(key: RegExp, run: () => void): Set<number> {
  const { set } = Map.prototype;
  const sizes = new Set<number>();
  Map.prototype.set = function (name, value) {
    set.call(this, name, value);
    if (key.test(String(name))) sizes.add(this.size);
    return this;
  };
  try {
    run();
  } finally {
    Map.prototype.set = set;
  }
  return sizes;
}
