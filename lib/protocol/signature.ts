/**
 * Signatures as the chain accepts them: 65 bytes `r || s || v`, v 27 or 28, low s. Everything else
 * is refused, so that each signed message has exactly one signature by one key.
 */
// Only this file: the whole package starts five WebAssembly programs, which takes 0.1 s.
import { instantiateSecp256k1 } from "@bitauth/libauth/build/lib/crypto/secp256k1.js";
import { RangemakerError } from "../errors.ts";
import { type Address, checksumAddress, CURVE_ORDER, HALF_ORDER, type Hex } from "./scalars.ts";
import { keccak256 } from "./keccak.ts";

/** libsecp256k1 as WebAssembly: about four times as fast as the same in JavaScript. */
const secp256k1 = await instantiateSecp256k1();

const SIGNATURE_BYTES = 65;
const DIGEST_BYTES = 32;

/** A signature was refused; `details` has the digest and addresses a caller needs to debug it. */
export class SignatureError extends RangemakerError {
  constructor(
    message: string,
    details: Record<string, unknown> = {},
    cause?: unknown,
    code: "INVALID_SIGNATURE" | "WRONG_CHAIN" = "INVALID_SIGNATURE",
  ) {
    super(code, message, { details, cause });
  }
}

/** Signs with a private key; the key itself cannot be read back, printed or logged. */
export class LocalSigner {
  readonly address: Address;
  readonly #privateKey: Uint8Array;

  /** @param privateKey 32 bytes as hex. @throws {SignatureError} If it is not a valid key. */
  constructor(privateKey: Hex) {
    // A malformed text may still be a key with a typo, so no message quotes it.
    if (!/^0x[0-9a-fA-F]{64}$/.test(privateKey)) {
      throw new SignatureError("Not a private key: expected 0x and 64 hex digits");
    }
    const key = bytesOf(privateKey);
    const publicKey = secp256k1.derivePublicKeyUncompressed(key);
    if (typeof publicKey === "string") {
      throw new SignatureError("Not a private key of secp256k1: out of range");
    }
    this.#privateKey = key;
    this.address = addressOf(publicKey);
  }

  /** Signs a digest, deterministically (RFC 6979), in the one accepted form. */
  sign(digest: Hex): Hex {
    const signed = secp256k1.signMessageHashRecoverableCompact(
      this.#privateKey,
      digestBytes(digest),
    );
    if (typeof signed === "string") throw new SignatureError(`Digest cannot be signed: ${signed}`);
    return `0x${signed.signature.toHex()}${(27 + signed.recoveryId).toString(16)}`;
  }
}

/**
 * The address that made a signature. `lib/client/typed_data.ts` has an independent one on purpose.
 *
 * @throws {SignatureError} If the signature is not in the strict form, saying which rule it breaks.
 */
export function recoverSigner(digest: Hex, signature: Hex): Address {
  const bytes = (signature.length - 2) / 2;
  if (bytes !== SIGNATURE_BYTES) {
    const size = bytes === 1 ? "1 byte" : `${bytes} bytes`;
    throw new SignatureError(`Signature has ${size}: expected 65 (r, s, v)`, { digest });
  }
  const r = BigInt(signature.slice(0, 66));
  const s = BigInt(`0x${signature.slice(66, 130)}`);
  const v = Number.parseInt(signature.slice(130), 16);
  if (v !== 27 && v !== 28) {
    throw new SignatureError(`Signature has v ${v}: expected 27 or 28`, { digest });
  }
  if (r === 0n || r >= CURVE_ORDER || s === 0n || s >= CURVE_ORDER) {
    throw new SignatureError(
      "Signature has r or s out of range: expected both below the curve's order",
      { digest },
    );
  }
  if (s > HALF_ORDER) {
    throw new SignatureError("Signature has a high s: expected the low one", { digest });
  }
  const publicKey = secp256k1.recoverPublicKeyUncompressed(
    bytesOf(signature).subarray(0, 64),
    v === 27 ? 0 : 1,
    digestBytes(digest),
  );
  if (typeof publicKey === "string") {
    throw new SignatureError("Signature recovers to no public key: expected one by the signer", {
      digest,
    });
  }
  return addressOf(publicKey);
}

function digestBytes(digest: Hex): Uint8Array {
  const bytes = bytesOf(digest);
  // The library would silently pad or truncate it.
  if (bytes.length !== DIGEST_BYTES) {
    throw new TypeError(`Digest has ${bytes.length} bytes: expected ${DIGEST_BYTES}`);
  }
  return bytes;
}

function bytesOf(hex: Hex): Uint8Array {
  return Uint8Array.fromHex(hex.slice(2));
}

/** The address of an uncompressed public key: the end of the hash of its two coordinates. */
function addressOf(publicKey: Uint8Array): Address {
  return checksumAddress(`0x${keccak256(publicKey.subarray(1)).subarray(-20).toHex()}`);
}

/**
 * Checks that `expected` made the signature.
 *
 * @throws {SignatureError} If it did not, with the digest that was checked, the address recovered
 * and the address expected.
 */
export function requireSigner(what: string, digest: Hex, signature: Hex, expected: Address): void {
  let recovered: Address;
  try {
    recovered = recoverSigner(digest, signature);
  } catch (thrown) {
    if (!(thrown instanceof SignatureError)) throw thrown;
    throw new SignatureError(
      `${what}: ${thrown.message}; checked digest ${digest}, expected signer ${expected}`,
      { digest, expected },
      thrown,
    );
  }
  if (recovered !== expected) {
    throw new SignatureError(
      `${what} is by another key, or of other data: checked digest ${digest}, ` +
        `recovered ${recovered}, expected ${expected}`,
      { digest, recovered, expected },
    );
  }
}

/** Whether `address` made the signature. */
export function isSignedBy(address: Address, digest: Hex, signature: Hex): boolean {
  try {
    return recoverSigner(digest, signature) === address;
  } catch {
    return false; // it recovers to no key at all
  }
}
