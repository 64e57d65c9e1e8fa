/**
 * The scalar types of the wire: addresses, hashes, decimal integers and times. Each schema takes
 * what arrives as JSON and gives the type used inside, or a message that names the rule broken.
 */
import { type Address, getAddress, type Hex } from "viem";
import { z } from "zod";

export type { Address, Hex };

/** The largest price or amount: 64 unsigned bits. */
export const UINT64_MAX = 2n ** 64n - 1n;

/** The largest nonce: 256 unsigned bits. */
export const UINT256_MAX = 2n ** 256n - 1n;

/** Decimal digits of {@link UINT256_MAX}: longer text is refused before it becomes a number. */
const UINT256_DIGITS = 78;

function isHexOf(bytes: number): (text: string) => boolean {
  const pattern = new RegExp(`^0x[0-9a-fA-F]{${2 * bytes}}$`);
  return (text) => pattern.test(text);
}

/** An address in any case, given in its EIP-55 form. */
export const addressSchema = z.string({ error: "Expected an address string" })
  .refine(isHexOf(20), "Expected an address: 0x and 40 hex digits")
  .transform((text): Address => getAddress(text));

/** Thirty-two bytes as hex, given in lower case. */
export const hash32Schema = z.string({ error: "Expected a hash string" })
  .refine(isHexOf(32), "Expected a hash: 0x and 64 hex digits")
  .transform((text) => text.toLowerCase() as Hex); // the pattern above is what Hex means

/** Longest hex text admitted where a signature is expected; its exact form is checked later. */
const SIGNATURE_TEXT_MAX = 1024;

/** Hex bytes meant as a signature: the strict form is checked where it is used, with its reason. */
export const signatureSchema = z.string({ error: "Expected a signature string" })
  .max(SIGNATURE_TEXT_MAX, "Expected a signature: 0x and 130 hex digits")
  .refine((text) => /^0x([0-9a-fA-F]{2})*$/.test(text), "Expected a signature: 0x and hex digits")
  .transform((text) => text.toLowerCase() as Hex); // the pattern above is what Hex means

function decimalSchema(max: bigint, bits: number) {
  return z.string({ error: "Expected a decimal integer as a string" })
    .max(UINT256_DIGITS, `Expected an integer of at most ${bits} bits`)
    .regex(/^(0|[1-9][0-9]*)$/, "Expected a decimal integer without sign or leading zeros")
    .transform(BigInt)
    .refine((value) => value <= max, `Expected an integer of at most ${bits} bits`);
}

/** A price or an amount: decimal text of at most 64 unsigned bits, given as a bigint. */
export const uint64Schema = decimalSchema(UINT64_MAX, 64);

/** A nonce: decimal text of at most 256 unsigned bits, given as a bigint. */
export const uint256Schema = decimalSchema(UINT256_MAX, 256);

/** Unix time in milliseconds. */
export const timestampSchema = z.number({ error: "Expected a time in Unix milliseconds" })
  .int("Expected a whole number of milliseconds")
  .nonnegative("Expected a time that is not negative");

/** The chain id as every signing service takes it. */
export const chainIdSchema = z.coerce.number().int().positive();

/** Thesis types that exist. */
export const thesisTypeSchema = z.literal("box", { error: 'Expected "box"' });

/** The first thing wrong with a value, as `path: message`. */
export function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "Invalid value";
  const path = issue.path.map(String).join(".");
  const message = issue.code === "invalid_type" && issue.expected === "object"
    ? "Expected an object"
    : issue.message;
  return path === "" ? message : `${path}: ${message}`;
}
