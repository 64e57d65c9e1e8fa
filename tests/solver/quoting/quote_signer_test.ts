import assert from "node:assert/strict";
import { secp256k1 } from "@noble/curves/secp256k1";
import fc from "fast-check";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { requireSigner, SignatureError } from "../../../lib/protocol/signature.ts";
import { QuoteSigner } from "../../../services/solver/quoting/quote_signer.ts";
import { solver, user } from "../support.ts";

/** The error of a check, or undefined if it passes. */
function refusalOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof SignatureError) return thrown.message;
    throw thrown;
  }
}

function digestOf(n: number): Hex {
  return `0x${n.toString(16).padStart(64, "0")}`;
}

/** Ways to hand in a signature over a digest: as it is, or changed. */
const forms: Record<string, (signature: Hex, digest: Hex) => Hex> = {
  "the solver's": (signature) => signature,
  "in upper case": (signature) => `0x${signature.slice(2).toUpperCase()}`,
  "with the other v": (signature) =>
    `${signature.slice(0, 130) as Hex}${signature.endsWith("1b") ? "1c" : "1b"}`,
  "with v 0 or 1": (signature) =>
    `${signature.slice(0, 130) as Hex}${signature.endsWith("1b") ? "00" : "01"}`,
  "the high-s twin": (signature) => {
    const s = secp256k1.CURVE.n - BigInt(`0x${signature.slice(66, 130)}`);
    const v = signature.endsWith("1b") ? "1c" : "1b";
    return `${signature.slice(0, 66) as Hex}${s.toString(16).padStart(64, "0")}${v}`;
  },
  "without v": (signature) => signature.slice(0, 130) as Hex,
  "of another digest": (_signature, digest) => solver.sign(`0x${digest.slice(3)}f`),
  "the user's": (_signature, digest) => user.sign(digest),
  "with another nonce": (_signature, digest) => otherNonce(digest),
};

/** A good signature by the solver's key that is not the deterministic one. */
function otherNonce(digest: Hex): Hex {
  const signed = secp256k1.sign(digest.slice(2), DEV_ACCOUNTS.solver.privateKey.slice(2), {
    extraEntropy: new Uint8Array(32),
  });
  return `0x${signed.toCompactHex()}${(27 + signed.recovery).toString(16)}`;
}

Deno.test("QuoteSigner: accepts the same signatures with and without the cache", () => {
  const step = fc.record({
    digest: fc.integer({ min: 1, max: 5 }).map(digestOf),
    form: fc.constantFrom(...Object.keys(forms)),
    signsFirst: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const quotes = new QuoteSigner(solver);
      for (const { digest, form, signsFirst } of steps) {
        if (signsFirst) assert.equal(quotes.sign(digest), solver.sign(digest));
        const signature = forms[form]?.(solver.sign(digest), digest) ?? assert.fail(form);
        assert.equal(
          refusalOf(() => quotes.requireOwn(digest, signature)),
          refusalOf(() => requireSigner("Quote signature", digest, signature, solver.address)),
        );
      }
    }),
    { numRuns: 50 },
  );
});

Deno.test("QuoteSigner: caches the newest signatures up to its limit, each for its own hash", () => {
  // No curve would accept these signatures, so accepted ones come from the cache.
  const signer = { address: solver.address, sign: (digest: Hex): Hex => `0x${digest.slice(-2)}` };
  const quotes = new QuoteSigner(signer);
  const newest = 20_001;
  const signatures = Array.from({ length: newest }, (_, index) => quotes.sign(digestOf(index + 1)));
  const isAccepted = (n: number, signature: Hex | undefined) =>
    refusalOf(() => quotes.requireOwn(digestOf(n), signature ?? assert.fail())) === undefined;
  assert.equal(isAccepted(1, signatures[0]), false);
  assert.equal(isAccepted(2, signatures[1]), true);
  assert.equal(isAccepted(newest, signatures[newest - 1]), true);
  assert.equal(isAccepted(newest, signatures[1]), false);
});
