import * as z from "zod/mini";
import {
  type Quote,
  QUOTE_TYPE,
  quoteMessage,
  quoteSchema,
  quoteToWire,
  type QuoteWire,
} from "../protocol/quote.ts";
import { type Address, hash32Schema, type Hex } from "../protocol/scalars.ts";
import { describeIssue } from "../protocol/describe_input.ts";
import { QuoteError } from "./errors.ts";
import { type TypedData, typedDataOf } from "../protocol/typed_data.ts";
import { hashTypedData, recoverSigner } from "./typed_data.ts";

/** A quote that matches the request and is signed by the solver. */
export interface Offer {
  quote: Quote;
  quoteHash: Hex;
  /**
   * Probability that the user wins, by the solver's model when it quoted; absent if the solver has
   * none. Not part of the signed message.
   */
  probability?: number | undefined;
}

/** An offer as plain JSON: amounts and prices are decimal strings. */
export interface OfferJson {
  quote: QuoteWire;
  quoteHash: Hex;
}

const offerSchema = z.object({ quote: quoteSchema, quoteHash: hash32Schema });

/**
 * An offer as plain JSON, to be stored with its signature before it is executed.
 *
 * @example
 * ```ts
 * const text = JSON.stringify(offerToJson(offer));
 * ```
 */
export function offerToJson({ quote, quoteHash }: Offer): OfferJson {
  return { quote: quoteToWire(quote), quoteHash };
}

/**
 * Reads an offer that {@link offerToJson} wrote. `sign` checks its hash and signature again.
 *
 * @throws {QuoteError} `INVALID_OFFER` if it is something else.
 * @example
 * ```ts
 * const stored = JSON.stringify(offerToJson(offer));
 * const { quote } = offerFromJson(JSON.parse(stored));
 * ```
 */
export function offerFromJson(value: unknown): Offer {
  const parsed = offerSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const message = `Not an offer: ${describeIssue(parsed.error)}; pass what offerToJson returned`;
  throw new QuoteError("INVALID_OFFER", message, {});
}

/** The message that the user signs to accept a quote. */
export function quoteTypedData(quote: Quote, chainId: number): TypedData {
  return typedDataOf(QUOTE_TYPE, chainId, quoteMessage(quote));
}

/**
 * Checks that a quote is for the bet that was asked for.
 *
 * @throws {QuoteError} `QUOTE_TERMS_MISMATCH`
 */
export function requireRequested(quote: Quote, request: Record<string, unknown>): void {
  const offered = quoteMessage(quote);
  for (const [field, asked] of Object.entries(request)) {
    const [expected, actual] = [String(asked), String(offered[field])];
    if (actual === expected) continue;
    const message = `Quote has ${field} ${actual}: asked for ${expected}`;
    throw new QuoteError("QUOTE_TERMS_MISMATCH", message, { field, expected, actual });
  }
}

/**
 * Checks that an offer is for a chain, unchanged, and signed by its solver. The hash is computed
 * here, with another library than the solver's.
 *
 * @param solver The required signer.
 * @throws {QuoteError} `QUOTE_HASH_MISMATCH` or `QUOTE_SIGNER_MISMATCH`
 */
export function requireGenuine(offer: Offer, chainId: number, solver: Address): void {
  const { quote, quoteHash: claimedHash } = offer;
  const quoteHash = hashTypedData(quoteTypedData(quote, chainId));
  if (claimedHash !== quoteHash) {
    const message = `Quote has hash ${quoteHash} on chain ${chainId}: the offer says ` +
      `${claimedHash}, so it is for another chain or was changed`;
    throw new QuoteError("QUOTE_HASH_MISMATCH", message, { quoteHash, claimedHash, chainId });
  }
  const signer = signerOf(quoteHash, quote.signature);
  if (signer === solver && quote.solver === solver) return;
  const message = `Quote of ${quote.solver} is signed by ${signer ?? "nobody"}: expected ${solver}`;
  throw new QuoteError("QUOTE_SIGNER_MISMATCH", message, { quoteHash, signer, expected: solver });
}

/** The signer of a signature; undefined if it is malformed. */
function signerOf(digest: Hex, signature: Hex): Address | undefined {
  try {
    return recoverSigner(digest, signature);
  } catch {
    return undefined; // the caller's error has the expected signer
  }
}
