/** The account of a key that the page has: it signs without a prompt. */
import { hmac } from "@noble/hashes/hmac";
import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import * as secp256k1 from "@noble/secp256k1";
import type { AccountWallet, Hex, TypedData } from "@rangemaker/client";
import { addressOf, hashTypedData } from "../../../../lib/client/typed_data.ts";

// Not those of the browser, which it lacks on a page without TLS.
secp256k1.hashes.hmacSha256 = (key, message) => new Uint8Array(hmac(sha256, key, message));

/** @throws {Error} If it is no key of secp256k1. */
export function accountOf(key: Hex): AccountWallet {
  const secret = hexToBytes(key.slice(2));
  const sign = (typedData: TypedData): Hex => {
    const digest = hexToBytes(hashTypedData(typedData).slice(2));
    const signed = secp256k1.sign(digest, secret, { prehash: false, format: "recovered" });
    return `0x${bytesToHex(signed.subarray(1))}${(27 + signed[0]!).toString(16)}`; // 65 bytes
  };
  return {
    address: addressOf(secp256k1.getPublicKey(secret, false)),
    signTypedData: (typedData) => Promise.resolve(sign(typedData)),
  };
}
