import assert from "node:assert/strict";
import { secp256k1 } from "@noble/curves/secp256k1";
import { recoverAddress, SigningKey } from "ethers";
import fc from "fast-check";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import {
  LocalSigner,
  recoverSigner,
  requireSigner,
  SignatureError,
} from "../../../lib/protocol/signature.ts";

const digest: Hex = `0x${"5a".repeat(32)}`;
const signer = new LocalSigner(DEV_ACCOUNTS.solver.privateKey);
const good = signer.sign(digest);

function word(value: bigint): string {
  return value.toString(16).padStart(64, "0");
}

/** The other signature over the same digest by the same key. */
function malleableTwin(signature: Hex): Hex {
  const s = BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.endsWith("1b") ? "1c" : "1b";
  return `${signature.slice(0, 66) as Hex}${word(secp256k1.CURVE.n - s)}${v}`;
}

const HALF_ORDER = secp256k1.CURVE.n / 2n;

const refused: readonly (readonly [string, string, RegExp])[] = [
  ["64 bytes (compact)", good.slice(0, 130), /has 64 bytes: expected 65/],
  ["66 bytes", `${good}00`, /has 66 bytes: expected 65/],
  ["no bytes", "0x", /has 0 bytes: expected 65/],
  ["v 0", `${good.slice(0, 130)}00`, /has v 0: expected 27 or 28/],
  ["v 1", `${good.slice(0, 130)}01`, /has v 1: expected 27 or 28/],
  ["v 29", `${good.slice(0, 130)}1d`, /has v 29: expected 27 or 28/],
  ["the high-s twin", malleableTwin(good), /has a high s: expected the low one/],
  ["r of 0", `0x${word(0n)}${good.slice(66)}`, /r or s out of range/],
  ["s of 0", `${good.slice(0, 66)}${word(0n)}1b`, /r or s out of range/],
  ["s of the curve order", `${good.slice(0, 66)}${word(secp256k1.CURVE.n)}1b`, /out of range/],
  ["the lowest high s", `${good.slice(0, 66)}${word(HALF_ORDER + 1n)}1b`, /has a high s/],
  ["r of the curve order", `0x${word(secp256k1.CURVE.n)}${good.slice(66)}`, /out of range/],
  ["r that is no point", `0x${word(5n)}${good.slice(66)}`, /recovers to no public key/],
];

for (const [what, signature, reason] of refused) {
  Deno.test(`recoverSigner: ${what} is refused with its reason`, () => {
    assert.throws(() => recoverSigner(digest, signature as Hex), {
      name: "SignatureError",
      message: reason,
      code: "INVALID_SIGNATURE",
      details: { digest },
    });
  });
}

Deno.test("recoverSigner: the highest low s is accepted", () => {
  const highest = `${good.slice(0, 66)}${word(HALF_ORDER)}1b` as Hex;
  assert.equal(recoverSigner(digest, highest), recoverAddress(digest, highest));
});

for (const bytes of [31, 33]) {
  const other: Hex = `0x${"5a".repeat(bytes)}`;
  Deno.test(`LocalSigner, recoverSigner, requireSigner: a digest of ${bytes} bytes throws a TypeError`, () => {
    const mistake = { name: "TypeError", message: `Digest has ${bytes} bytes: expected 32` };
    assert.throws(() => signer.sign(other), mistake);
    assert.throws(() => recoverSigner(other, good), mistake);
    assert.throws(() => requireSigner("Signature", other, good, signer.address), mistake);
  });
}

Deno.test("recoverSigner: agrees with ethers on any digest and key", () => {
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
  fc.assert(
    fc.property(bytes, fc.bigInt(1n, secp256k1.CURVE.n - 1n), (message, key) => {
      const hash: Hex = `0x${new Uint8Array(message).toHex()}`;
      const privateKey: Hex = `0x${word(key)}`;
      const ours = new LocalSigner(privateKey);
      const signature = ours.sign(hash);
      assert.equal(signature, new SigningKey(privateKey).sign(hash).serialized);
      assert.equal(recoverSigner(hash, signature), ours.address);
    }),
    { numRuns: 25 },
  );
});

Deno.test("requireSigner: the error for another key has digest, recovered and expected", () => {
  const expected = DEV_ACCOUNTS.relayer.address;
  assert.throws(() => requireSigner("User signature", digest, good, expected), (thrown) => {
    assert(thrown instanceof SignatureError);
    assert.deepEqual(thrown.details, { digest, recovered: signer.address, expected });
    for (const fact of [digest, signer.address, expected]) assert(thrown.message.includes(fact));
    return true;
  });
});

Deno.test("requireSigner: the error for a malformed signature has reason, digest and expected", () => {
  const short = good.slice(0, 130) as Hex;
  assert.throws(() => requireSigner("User signature", digest, short, signer.address), (thrown) => {
    assert(thrown instanceof SignatureError);
    assert.match(thrown.message, /^User signature: Signature has 64 bytes/);
    assert(thrown.message.includes(digest) && thrown.message.includes(signer.address));
    assert.deepEqual(thrown.details, { digest, expected: signer.address });
    assert(thrown.cause instanceof SignatureError);
    return true;
  });
});

Deno.test("LocalSigner: printing, JSON and errors do not show the key", () => {
  const key = DEV_ACCOUNTS.solver.privateKey.slice(2);
  const shown = [Deno.inspect(signer, { depth: 10 }), JSON.stringify(signer), String(signer)];
  for (const text of shown) assert(!text.includes(key));
  const outOfRange: Hex = `0x${"ff".repeat(32)}`;
  assert.throws(() => new LocalSigner(outOfRange), (thrown) => {
    return thrown instanceof SignatureError && !Deno.inspect(thrown).includes("ff".repeat(32));
  });
});

const cases = [
  ["a digit too many", (key: string) => `${key}0`],
  ["a byte too many", (key: string) => `${key}00`],
  ["a digit too few", (key: string) => key.slice(0, -1)],
  ["something before it", (key: string) => `0${key}`],
  ["a digit that is none", (key: string) => `${key.slice(0, -1)}g`],
] as const;
for (const [what, change] of cases) {
  Deno.test(`LocalSigner: a key with ${what} is refused, and not quoted`, () => {
    const key = change(DEV_ACCOUNTS.solver.privateKey);
    assert.throws(() => new LocalSigner(key as Hex), (thrown) => {
      assert(thrown instanceof SignatureError);
      assert.match(thrown.message, /^Not a private key: expected 0x and 64 hex digits$/);
      assert(!Deno.inspect(thrown).includes(key.slice(2, 60)));
      return true;
    });
  });
}
