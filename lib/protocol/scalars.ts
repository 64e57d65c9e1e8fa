/**
 * The scalar types of the wire: addresses, hashes, decimal integers and times. Each schema parses
 * JSON into the type used inside, or fails with a message that names the broken rule.
 */
import * as z from "zod/mini";
import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import { NewestMap } from "../newest_map.ts";

/** Bytes as hex text. */
export type Hex = `0x${string}`;

/** An account or a token: 20 bytes as hex text, in EIP-55 form. */
export type Address = `0x${string}`;

/** Cache of checksums, since requests contain the same few addresses; about 1 MB at most. */
const checksums = new NewestMap<string, Address>(8_192);

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
  checksums.set(address, checksum);
  return checksum;
}

/** A number as Ethereum writes it. */
export const quantitySchema = z.string().check(z.regex(/^0x[0-9a-f]+$/));

/** Writes a number as Ethereum's JSON-RPC does: without leading zeros. */
export function toQuantity(value: number): Hex {
  return `0x${value.toString(16)}`;
}

/** The largest price or amount: 64 unsigned bits. */
export const UINT64_MAX = 2n ** 64n - 1n;

/** The largest nonce: 256 unsigned bits. */
export const UINT256_MAX = 2n ** 256n - 1n;

/**
 * A copy of a schema with a description for the API documents. Unlike a check, it costs no time.
 */
export function described<S extends z.core.$ZodType>(
  schema: S,
  meta: string | z.core.GlobalMeta,
): S {
  const copy = z.clone(schema);
  z.globalRegistry.add(copy, typeof meta === "string" ? { description: meta } : meta);
  return copy;
}

/** An address. Accepts upper, lower and mixed case; returns the EIP-55 form. */
export const addressSchema = described(
  z.pipe(
    z.string({ error: "Expected an address string" })
      .check(z.regex(/^0x[0-9a-fA-F]{40}$/, "Expected an address: 0x and 40 hex digits")),
    z.transform((text): Address => checksumAddress(text)),
  ),
  {
    id: "Address",
    description: "Address; any case is accepted, the EIP-55 form is returned",
    examples: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"],
  },
);

/** 32 bytes as hex. Accepts upper, lower and mixed case; returns lower case. */
export const hash32Schema = described(
  z.pipe(
    z.string({ error: "Expected a hash string" })
      .check(z.regex(/^0x[0-9a-fA-F]{64}$/, "Expected a hash: 0x and 64 hex digits")),
    z.transform((text) => text.toLowerCase() as Hex), // the pattern above is what Hex means
  ),
  {
    id: "Hash",
    description: "32 bytes as hex; any case is accepted, lower case is returned",
    examples: [`0x${"1a".repeat(32)}`],
  },
);

/** Longest hex text accepted as a signature; its exact form is checked later. */
const SIGNATURE_TEXT_MAX = 1024;

/** Hex bytes meant as a signature; `requireSigner` checks the strict form. */
export const signatureSchema = described(
  z.pipe(
    z.string({ error: "Expected a signature string" }).check(
      z.maxLength(SIGNATURE_TEXT_MAX, "Expected a signature: 0x and 130 hex digits"),
      z.regex(/^0x([0-9a-fA-F]{2})*$/, "Expected a signature: 0x and hex digits"),
    ),
    z.transform((text) => text.toLowerCase() as Hex), // the pattern above is what Hex means
  ),
  {
    id: "Signature",
    description: "Signature: 65 bytes `r || s || v` as hex, v 27 or 28, low s; " +
      "bytes of another form fail the check of the signature, which says why",
    examples: [`0x${"1a".repeat(64)}1b`],
  },
);

/** A signature of 65 bytes by any wallet or signer: see {@link normalizeSignature}. */
export const anySignatureSchema = z.custom<Hex>((value) =>
  typeof value === "string" && /^0x[0-9a-fA-F]{130}$/.test(value)
);

/** Order of secp256k1, and half of it, which no `s` of a canonical signature exceeds. */
export const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
export const HALF_ORDER = CURVE_ORDER / 2n;

/**
 * Converts a signature of 65 bytes to the accepted form: other libraries use v 0 or 1, or a high s.
 */
export function normalizeSignature(signature: Hex): Hex {
  const s = BigInt(`0x${signature.slice(66, 130)}`);
  const v = Number.parseInt(signature.slice(130), 16);
  const isHigh = s > HALF_ORDER && s < CURVE_ORDER;
  const low = (isHigh ? CURVE_ORDER - s : s).toString(16).padStart(64, "0");
  const parity = (v < 27 ? v : v - 27) ^ (isHigh ? 1 : 0);
  const form = `${signature.slice(0, 66)}${low}${(27 + parity).toString(16).padStart(2, "0")}`;
  return form as Hex; // its start is that of the given one
}

/** A decimal integer of any size, without sign and leading zeros. */
const DECIMAL = /^(0|[1-9][0-9]*)$/;

/**
 * A decimal integer from `min` to the largest of `bits` bits, returned as a bigint. One pattern is
 * the entire rule, so that a JSON schema generated from it is exact.
 *
 * @param zeroRule Error message for 0 if `min` is 1.
 */
function decimalSchema(bits: 64 | 256, min: 0 | 1, zeroRule?: string) {
  const notZero = decimalPattern(2n ** BigInt(bits) - 1n);
  const pattern = new RegExp(min === 0 ? `^(0|${notZero})$` : `^(${notZero})$`);
  const ruleBroken = (input: unknown) => {
    if (!DECIMAL.test(String(input))) {
      return "Expected a decimal integer without sign or leading zeros";
    }
    return input === "0" ? zeroRule : `Expected an integer of at most ${bits} bits`;
  };
  const schema = z.pipe(
    z.string({ error: "Expected a decimal integer as a string" })
      .check(z.regex(pattern, { error: ({ input }) => ruleBroken(input) })),
    z.transform((text: string) => BigInt(text)),
  );
  return described(schema, { examples: ["60000000000"] });
}

/** Pattern source for the decimal integers from 1 to `max`, which has at least two digits. */
function decimalPattern(max: bigint): string {
  const digits = [...max.toString()].map(Number);
  // From the last digit to the first: a lower digit and any after it, or this one and the rest.
  const asLong = digits.reduceRight((rest, digit, index) => {
    const after = digits.length - 1 - index;
    if (after === 0) return digitPattern(0, digit);
    const lowest = index === 0 ? 1 : 0;
    if (digit === lowest) return `${digit}${rest}`;
    return `(${digitPattern(lowest, digit - 1)}[0-9]{${after}}|${digit}${rest})`;
  }, "");
  return `[1-9][0-9]{0,${digits.length - 2}}|${asLong}`;
}

function digitPattern(from: number, to: number): string {
  return from === to ? `${from}` : `[${from}-${to}]`;
}

/** A price or an amount: decimal text of at most 64 unsigned bits, given as a bigint. */
export const uint64Schema = described(decimalSchema(64, 0), {
  id: "Uint64",
  description: "Price or amount with 6 decimals: a decimal integer of at most 64 bits, as text",
});

/** A price or an amount above 0. @param zeroRule Error message for 0. */
export function positiveUint64Schema(zeroRule: string) {
  return decimalSchema(64, 1, zeroRule);
}

/** A nonce: decimal text of at most 256 unsigned bits, given as a bigint. */
export const uint256Schema = described(decimalSchema(256, 0), {
  id: "Uint256",
  description: "Decimal integer of at most 256 bits, as text",
});

/** Unix time in milliseconds. */
export const timestampSchema = described(
  z.number({ error: "Expected a time in Unix milliseconds" }).check(
    z.int("Expected a whole number of milliseconds"),
    z.nonnegative("Expected a time that is not negative"),
  ),
  { id: "Timestamp", description: "Unix time in milliseconds", examples: [1795174732757] },
);

/** The only thesis type. */
export const thesisTypeSchema = z.literal("box", { error: 'Expected "box"' });
