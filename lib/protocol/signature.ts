/**
 * Signatures as the chain accepts them: 65 bytes `r || s || v`, v 27 or 28, low s. Everything else
 * is refused, so that each signed message has exactly one signature by one key.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { type Address, bytesToHex, type Hex, hexToBytes } from "viem";
import { privateKeyToAddress, publicKeyToAddress } from "viem/accounts";
import { RangemakerError } from "../errors.ts";

const CURVE_ORDER = secp256k1.CURVE.n;
const HALF_ORDER = CURVE_ORDER / 2n;
const SIGNATURE_BYTES = 65;

/** Why a signature was refused; `details` holds what a caller needs to find the fault. */
export class SignatureError extends RangemakerError {
  constructor(message: string, details: Record<string, unknown> = {}, cause?: unknown) {
    super("INVALID_SIGNATURE", message, { details, cause });
  }
}

/** Holds a private key and signs with it; the key itself cannot be read back, printed or logged. */
export class Signer {
  readonly address: Address;
  readonly #privateKey: Uint8Array;

  /** @param privateKey 32 bytes as hex. @throws {SignatureError} If it is no key of the curve. */
  constructor(privateKey: Hex) {
    try {
      this.address = privateKeyToAddress(privateKey);
      this.#privateKey = hexToBytes(privateKey);
    } catch {
      // The cause is left out on purpose: it may quote the key.
      throw new SignatureError("Not a private key of secp256k1: out of range");
    }
  }

  /** Signs a digest, deterministically (RFC 6979), in the one accepted form. */
  sign(digest: Hex): Hex {
    const signature = secp256k1.sign(digest.slice(2), this.#privateKey, { lowS: true });
    return `0x${signature.toCompactHex()}${(27 + signature.recovery).toString(16)}`;
  }
}

/**
 * The address that made a signature.
 *
 * @throws {SignatureError} If the signature is not in the strict form, saying which rule it breaks.
 */
export function recoverSigner(digest: Hex, signature: Hex): Address {
  const bytes = (signature.length - 2) / 2;
  if (bytes !== SIGNATURE_BYTES) {
    throw new SignatureError(`Signature has ${bytes} bytes: expected 65 (r, s, v)`, { digest });
  }
  const r = BigInt(signature.slice(0, 66));
  const s = BigInt(`0x${signature.slice(66, 130)}`);
  const v = Number.parseInt(signature.slice(130), 16);
  if (v !== 27 && v !== 28) {
    throw new SignatureError(`Signature has v ${v}: expected 27 or 28`, { digest });
  }
  if (r === 0n || r >= CURVE_ORDER || s === 0n || s >= CURVE_ORDER) {
    throw new SignatureError("Signature has r or s out of range", { digest });
  }
  if (s > HALF_ORDER) {
    throw new SignatureError("Signature has a high s: expected the low one", { digest });
  }
  try {
    const point = new secp256k1.Signature(r, s).addRecoveryBit(v - 27)
      .recoverPublicKey(digest.slice(2));
    return publicKeyToAddress(bytesToHex(point.toRawBytes(false)));
  } catch (cause) {
    throw new SignatureError("Signature recovers to no public key", { digest }, cause);
  }
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
      `${what} is by another key: checked digest ${digest}, recovered ${recovered}, expected ${expected}`,
      { digest, recovered, expected },
    );
  }
}
