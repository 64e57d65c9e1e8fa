import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";

/** Bytes as hex text. */
export type Hex = `0x${string}`;

/** An account or a token: 20 bytes as hex text, in EIP-55 form. */
export type Address = `0x${string}`;

/** Newest checksums, since the same few addresses come with every request; about 1 MB at most. */
const checksums = new Map<string, Address>();
const CHECKSUMS_MAX = 8_192;

/**
 * The EIP-55 form of an address in any case.
 *
 * @param address 0x and 40 hex digits; the caller has checked that.
 */
export function checksumAddress(address: string): Address {
  const known = checksums.get(address);
  if (known !== undefined) return known;
  const digits = address.slice(2).toLowerCase();
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)));
  let checksum: Address = "0x";
  for (const [index, digit] of [...digits].entries()) {
    checksum += Number.parseInt(hash.charAt(index), 16) >= 8 ? digit.toUpperCase() : digit;
  }
  const [oldest] = checksums.keys();
  if (checksums.size >= CHECKSUMS_MAX && oldest !== undefined) checksums.delete(oldest);
  checksums.set(address, checksum);
  return checksum;
}
