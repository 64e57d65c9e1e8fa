import assert from "node:assert/strict";
import * as fc from "fast-check";
import { privateKeyToAccount } from "viem/accounts";
import { CURVE_ORDER } from "../../../../lib/protocol/scalars.ts";
import { parseFlatType, typedDataOf } from "../../../../lib/protocol/typed_data.ts";
import { accountOf } from "../../../../services/console/page/data/key_account.ts";
import { hashOf } from "../../support.ts";

Deno.test("accountOf: each key has the address and the signatures that viem computes", async () => {
  const type = parseFlatType("Core:Test(uint256 nonce)");
  const keys = fc.bigInt(1n, CURVE_ORDER - 1n).map(hashOf);
  await fc.assert(
    fc.asyncProperty(keys, fc.nat(), async (key, nonce) => {
      const typedData = typedDataOf(type, 1337, { nonce });
      const [own, other] = [accountOf(key), privateKeyToAccount(key)];
      assert.equal(own.address, other.address);
      assert.equal(await own.signTypedData(typedData), await other.signTypedData(typedData));
    }),
    { numRuns: 30, examples: [[hashOf(1), 0]] },
  );
});

Deno.test("accountOf: throws for 0 and for numbers beyond the order of secp256k1", () => {
  for (const wrong of [0n, CURVE_ORDER]) assert.throws(() => accountOf(hashOf(wrong)));
});
