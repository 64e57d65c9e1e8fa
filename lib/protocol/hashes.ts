/**
 * The EIP-712 digests that services sign and check, computed in WebAssembly, several times as fast
 * as in JavaScript. The public client does not import this file: it hashes in JavaScript, so that
 * it starts in every browser (`lib/client/typed_data.ts`).
 */
import { NewestMap } from "../newest_map.ts";
import { DEPOSIT_ID_TYPE, DEPOSIT_REQUEST_TYPE, type DepositRequest } from "./deposit.ts";
import { keccak256 } from "./keccak.ts";
import { QUOTE_TYPE, quoteMessage, type UnsignedQuote } from "./quote.ts";
import type { Hex } from "./scalars.ts";
import { DOMAIN_TYPE, type FlatType, signingDomain } from "./typed_data.ts";

/** The hash of a domain is the same for every message of a chain, so the newest one is cached. */
let cachedDomain: { chainId: number; separator: Uint8Array } | undefined;

function domainSeparator(chainId: number): Uint8Array {
  if (cachedDomain?.chainId === chainId) return cachedDomain.separator;
  const domain = { ...signingDomain(chainId), chainId: BigInt(chainId) };
  const separator = hashStruct(DOMAIN_TYPE, domain);
  cachedDomain = { chainId, separator };
  return separator;
}

/**
 * The EIP-712 digest of a message of a flat type, one 32-byte word per field. Equivalent to viem's
 * `hashTypedData` but several times as fast, because it does not resolve nested types and the type
 * hash is precomputed. The golden vectors compare it with ethers.
 *
 * @throws {TypeError} If a field is missing or does not fit its type.
 */
export function hashFlat(type: FlatType, chainId: number, message: Record<string, unknown>): Hex {
  const preimage = new Uint8Array(2 + 2 * WORD_BYTES);
  preimage.set([0x19, 0x01]);
  preimage.set(domainSeparator(chainId), 2);
  preimage.set(hashStruct(type, message), 2 + WORD_BYTES);
  return `0x${keccak256(preimage).toHex()}`;
}

/** The quote hash: the digest that the solver and the user sign. */
export function hashQuote(quote: UnsignedQuote, chainId: number): Hex {
  return hashFlat(QUOTE_TYPE, chainId, quoteMessage(quote));
}

/** The digest that the user of a deposit signs. */
export function hashDepositRequest(
  request: Omit<DepositRequest, "signature">,
  chainId: number,
): Hex {
  return hashFlat(DEPOSIT_REQUEST_TYPE, chainId, {
    user: request.user,
    amount: request.amount,
    nonce: request.nonce,
    deadline: BigInt(request.deadline),
  });
}

/**
 * The mock external transaction hash of a deposit, which the node credits once for ever. It leaves
 * out the deadline, so that a request that was signed again with a later one is the same deposit,
 * also for a bridge whose database was lost or restored from a backup.
 */
export function externalHashOf(
  { user, amount, nonce }: Pick<DepositRequest, "user" | "amount" | "nonce">,
  chainId: number,
): Hex {
  return hashFlat(DEPOSIT_ID_TYPE, chainId, { user, amount, nonce });
}

/** Length of a word. */
const WORD_BYTES = 32;

/** Words that are being written: the view is of the same memory. */
interface Words {
  bytes: Uint8Array;
  view: DataView;
}

/** Writes one value into the word at an offset. */
type FieldEncoder = (value: unknown, words: Words, offset: number) => void;

const encoders: Readonly<Record<string, FieldEncoder>> = {
  address: (value, words, offset) => {
    writeHex(value, 20, words, offset + WORD_BYTES - 20);
  },
  bytes32: (value, words, offset) => writeHex(value, WORD_BYTES, words, offset),
  uint64: (value, words, offset) => writeUint(value, 64, words, offset),
  uint256: (value, words, offset) => writeUint(value, 256, words, offset),
  bytes: (value, words, offset) =>
    words.bytes.set(keccak256(Uint8Array.fromHex(hexDigitsOf(value))), offset),
  string: (value, words, offset) => {
    if (typeof value !== "string") throw typeMismatch("a string", value);
    words.bytes.set(hashText(value), offset);
  },
  "uint64[]": (value, words, offset) => {
    if (!Array.isArray(value)) throw typeMismatch("an array", value);
    words.bytes.set(keccak256(uint64Words(value)), offset);
  },
};

/**
 * The hash of a struct. `lib/client/typed_data.ts` has an independent one on purpose.
 *
 * @throws {TypeError} If a field is missing, does not fit its type, or has an unknown type.
 */
function hashStruct(type: FlatType, message: Record<string, unknown>): Uint8Array {
  const bytes = new Uint8Array((1 + type.fields.length) * WORD_BYTES);
  const words = { bytes, view: new DataView(bytes.buffer) };
  bytes.set(hashText(type.typeString));
  let offset = WORD_BYTES;
  for (const { name, type: kind } of type.fields) {
    const encode = encoders[kind];
    if (encode === undefined) throw new TypeError(`Field ${name} has type ${kind}: not supported`);
    encode(message[name], words, offset);
    offset += WORD_BYTES;
  }
  return keccak256(bytes);
}

function writeUint(value: unknown, bits: 64 | 256, { view }: Words, offset: number): void {
  if (typeof value !== "bigint" || value < 0n || value >> BigInt(bits) !== 0n) {
    throw typeMismatch(`an integer of ${bits} bits`, value);
  }
  let rest = value;
  for (let at = offset + WORD_BYTES - 8; rest !== 0n; at -= 8) {
    view.setBigUint64(at, rest & 0xffff_ffff_ffff_ffffn);
    rest >>= 64n;
  }
}

/** The words of a list, which may have thousands of items: one view for all of them. */
function uint64Words(values: readonly unknown[]): Uint8Array {
  const words = new Uint8Array(values.length * WORD_BYTES);
  const view = new DataView(words.buffer);
  for (const [index, value] of values.entries()) {
    if (typeof value !== "bigint" || BigInt.asUintN(64, value) !== value) {
      throw typeMismatch("an integer of 64 bits", value);
    }
    view.setBigUint64((index + 1) * WORD_BYTES - 8, value);
  }
  return words;
}

function writeHex(value: unknown, length: number, { bytes }: Words, offset: number): void {
  const digits = hexDigitsOf(value);
  if (digits.length !== 2 * length) throw typeMismatch(`${length} bytes`, value);
  bytes.subarray(offset, offset + length).setFromHex(digits);
}

function hexDigitsOf(value: unknown): string {
  if (typeof value === "string" && value.startsWith("0x")) return value.slice(2);
  throw typeMismatch("hex bytes", value);
}

const encoder = new TextEncoder();
/** Cache of the hashes of type strings, and of the few texts that messages contain. */
const textHashes = new NewestMap<string, Uint8Array>(64);

function hashText(text: string): Uint8Array {
  const known = textHashes.get(text);
  if (known !== undefined) return known;
  const hash = keccak256(encoder.encode(text));
  textHashes.set(text, hash);
  return hash;
}

function typeMismatch(expected: string, value: unknown): TypeError {
  return new TypeError(`Expected ${expected}: received ${String(value)}`);
}
