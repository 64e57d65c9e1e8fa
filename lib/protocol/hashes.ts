/**
 * The EIP-712 digests that services sign and check, computed in WebAssembly, several times as fast
 * as in JavaScript. The public client does not import this file: it hashes in JavaScript, so that it
 * starts in every browser (`lib/client/typed_data.ts`).
 */
import { DEPOSIT_REQUEST_TYPE, type DepositRequest } from "./deposit.ts";
import { keccak256 } from "./keccak.ts";
import { QUOTE_TYPE, quoteMessage, type QuoteTerms } from "./quote.ts";
import type { Hex } from "./scalars.ts";
import { encodeStruct, WORD_BYTES } from "./struct_encoding.ts";
import { DOMAIN_TYPE, type FlatType, signingDomain } from "./typed_data.ts";

/** Hash of each type string: the first word of every struct of the type. */
const typeHashes = new WeakMap<FlatType, Uint8Array>();

function typeHash(type: FlatType): Uint8Array {
  const cached = typeHashes.get(type);
  if (cached !== undefined) return cached;
  const hash = keccak256(new TextEncoder().encode(type.typeString));
  typeHashes.set(type, hash);
  return hash;
}

/** The hash of a domain is the same for every message of a chain, so the newest one is cached. */
let newestDomain: { chainId: number; separator: Uint8Array } | undefined;

function domainSeparator(chainId: number): Uint8Array {
  if (newestDomain?.chainId === chainId) return newestDomain.separator;
  const domain = { ...signingDomain(chainId), chainId: BigInt(chainId) };
  const separator = hashStruct(DOMAIN_TYPE, domain);
  newestDomain = { chainId, separator };
  return separator;
}

function hashStruct(type: FlatType, message: Record<string, unknown>): Uint8Array {
  return keccak256(encodeStruct(typeHash(type), type.fields, message));
}

/**
 * The EIP-712 digest of a message of a flat type.
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
export function hashQuote(terms: QuoteTerms, chainId: number): Hex {
  return hashFlat(QUOTE_TYPE, chainId, quoteMessage(terms));
}

/**
 * The digest that the user of a deposit signs. It also serves as the mock external transaction hash,
 * so that one request can never become two deposits.
 */
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
