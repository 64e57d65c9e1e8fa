/**
 * Digests and signers of EIP-712 typed data. They are computed in JavaScript, which runs in every
 * browser, and independently of the services' code (`lib/protocol/hashes.ts`, `signature.ts`), so
 * that a mistake in either is detected.
 */
import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils";
import { recoverPublicKey } from "@noble/secp256k1";
import { type Address, checksumAddress, type Hex } from "../protocol/scalars.ts";
import { DOMAIN_TYPE, type TypedData } from "../protocol/typed_data.ts";

/** The EIP-712 digest of typed data: what a wallet signs. */
export function hashTypedData({ domain, types, primaryType, message }: TypedData): Hex {
  const hash = keccak_256(concatBytes(
    Uint8Array.of(0x19, 0x01),
    hashStruct(DOMAIN_TYPE.primaryType, types, domain),
    hashStruct(primaryType, types, message),
  ));
  return `0x${bytesToHex(hash)}`;
}

/** The account that made a signature of 65 bytes. @throws {Error} If none can have made it. */
export function recoverSigner(digest: Hex, signature: Hex): Address {
  const recoveryBit = Number.parseInt(signature.slice(130), 16) - 27;
  const recoverable = concatBytes(
    Uint8Array.of(recoveryBit),
    hexToBytes(signature.slice(2, 130)),
  );
  const publicKey = recoverPublicKey(recoverable, hexToBytes(digest.slice(2)), {
    prehash: false,
    isCompressed: false,
  });
  return addressOf(publicKey);
}

/** The address of an uncompressed public key. */
export function addressOf(publicKey: Uint8Array): Address {
  return checksumAddress(`0x${bytesToHex(keccak_256(publicKey.subarray(1)).subarray(-20))}`);
}

function hashStruct(
  name: string,
  types: TypedData["types"],
  message: Record<string, unknown>,
): Uint8Array {
  const fields = types[name] ?? [];
  const members = fields.map((field) => `${field.type} ${field.name}`).join(",");
  const words = fields.map((field) => wordOf(field.type, String(message[field.name])));
  return keccak_256(concatBytes(keccak_256(utf8ToBytes(`${name}(${members})`)), ...words));
}

/** Encodes a field as the 32 bytes that are hashed. Users sign only these types. */
function wordOf(type: string, value: string): Uint8Array {
  if (type === "string") return keccak_256(utf8ToBytes(value));
  if (type === "address") return hexToBytes(value.slice(2).padStart(64, "0"));
  if (type === "uint256") return hexToBytes(BigInt(value).toString(16).padStart(64, "0"));
  throw new TypeError(`Typed data has a field of type ${type}: not supported`);
}
