import assert from "node:assert/strict";
import { createUserSignatureCheck } from "../../../lib/intents/user_signatures.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { LocalSigner, SignatureError } from "../../../lib/protocol/signature.ts";
import { FakeClock } from "../../support/fake_clock.ts";

Deno.test("createUserSignatureCheck: only 20 wrong signatures a second are compared with other chains, others cost one check", () => {
  const clock = new FakeClock();
  const user = new LocalSigner(DEV_ACCOUNTS.solver.privateKey);
  const check = createUserSignatureCheck(1_337, clock);
  let digests = 0;
  const digestFor = (chainId: number): Hex => {
    digests += 1;
    return `0x${chainId.toString(16).padStart(64, "0")}`;
  };
  const onMainnet = user.sign(digestFor(1));
  const codes = (count: number) =>
    Array.from({ length: count }, () => {
      try {
        check("User signature", digestFor, onMainnet, user.address);
      } catch (thrown) {
        return thrown instanceof SignatureError ? thrown.code : thrown;
      }
    });
  assert.deepEqual(codes(20), Array(20).fill("WRONG_CHAIN"));
  digests = 0;
  assert.deepEqual(codes(1_000), Array(1_000).fill("INVALID_SIGNATURE"));
  assert.equal(digests, 1_000);
  const right = user.sign(digestFor(1_337));
  check("User signature", digestFor, right, user.address);
  clock.advance(1_000);
  assert.deepEqual(codes(1), ["WRONG_CHAIN"]);
});
