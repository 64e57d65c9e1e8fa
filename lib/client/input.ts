/**
 * Checks arguments before anything is signed or sent: callers in plain JavaScript have no type
 * checks. Each throws an {@link InputError}.
 */
import { thesisFilterSchema } from "../protocol/methods/reads.ts";
import { addressSchema, UINT256_MAX, UINT64_MAX } from "../protocol/scalars.ts";
import { describeInput, describeValue } from "../protocol/describe_input.ts";
import { InputError } from "./errors.ts";

/** An amount or a price: a bigint of 64 bits. */
export function requireAmount(field: string, value: unknown, min: 0n | 1n = 0n): void {
  if (isBigint(value, min, UINT64_MAX)) return;
  const rule = `Expected a bigint with 6 decimals (1000000n is 1) from ${min} to 2^64 - 1`;
  throw wrongInput(field, rule, value);
}

/** A nonce: a bigint of 256 bits. */
export function requireNonce(value: unknown): void {
  if (isBigint(value, 0n, UINT256_MAX)) return;
  throw wrongInput("nonce", "Expected a bigint from 0 to 2^256 - 1", value);
}

/** Unix time in milliseconds. */
export function requireTime(field: string, value: unknown): void {
  if (Number.isSafeInteger(value) && Number(value) >= 0) return;
  throw wrongInput(field, "Expected Unix milliseconds as a whole number", value);
}

/** The longest time that timers of every runtime can wait; they end at once after a longer one. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1;

/** How long to wait, in milliseconds. */
export function requireTimeout(value: unknown): void {
  if (typeof value === "number" && value >= 0 && value <= TIMEOUT_MAX_MS) return;
  throw wrongInput("timeoutMs", `Expected milliseconds from 0 to ${TIMEOUT_MAX_MS}`, value);
}

/** The id of a thesis. */
export function requireThesisId(field: string, value: unknown): void {
  if (Number.isSafeInteger(value) && Number(value) > 0) return;
  throw wrongInput(field, "Expected the id of a thesis, a number from 1 on", value);
}

/** An address in any case. */
export function requireAddress(field: string, value: unknown): void {
  if (addressSchema.safeParse(value).success) return;
  throw wrongInput(field, "Expected an address: 0x and 40 hex digits", value);
}

/** An address in any case, or none. */
export function requireOptionalAddress(field: string, value: unknown): void {
  if (value !== undefined) requireAddress(field, value);
}

/** The filter of `theses`, by the node's own rules. */
export function requireThesisFilter(filter: unknown): void {
  const { error } = thesisFilterSchema.safeParse(filter);
  if (error === undefined) return;
  const [issue] = error.issues;
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const field = String(unknown ?? issue?.path[0] ?? "filter");
  throw new InputError("INVALID_INPUT", describeInput(error, filter), { field });
}

/** An offer. Detects a missing `await`, a quote in place of its offer, and stored JSON. */
export function requireOffer(value: unknown): void {
  if (isObject(value) && "quote" in value && isObject(value.quote)) {
    const { quote } = value;
    if ("betAmount" in quote && typeof quote.betAmount === "bigint") return;
  }
  throw wrongInput("offer", "Expected the result of quote or offerFromJson", value);
}

/** An object with any members. */
export function requireObject(field: string, value: unknown, rule: string): void {
  if (!isObject(value)) throw wrongInput(field, rule, value);
}

/** An error with the broken rule and the received value. */
export function wrongInput(field: string, rule: string, value: unknown): InputError {
  const kind = typeof value === "number" ? "the number " : "";
  const suffix = typeof value === "bigint" ? "n" : "";
  const message = `${field}: ${rule}: received ${kind}${describeValue(value)}${suffix}`;
  return new InputError("INVALID_INPUT", message, { field });
}

function isBigint(value: unknown, min: bigint, max: bigint): boolean {
  return typeof value === "bigint" && value >= min && value <= max;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
