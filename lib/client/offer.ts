import * as z from "zod";
import {
  type Quote,
  QUOTE_TYPE,
  quoteMessage,
  quoteSchema,
  quoteToWire,
  type QuoteWire,
} from "../protocol/quote.ts";
import { type Address, describeIssue, hash32Schema, type Hex } from "../protocol/scalars.ts";
import { QuoteError } from "./errors.ts";
import { hashTypedData, recoverSigner, type TypedData, typedDataOf } from "./typed_data.ts";

/** A quote that says what was asked for and is signed by the solver. */
export interface Offer {
  quote: Quote;
  quoteHash: Hex;
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
 * The offer that {@link offerToJson} made JSON of. Its signatures are not checked again: the solver
 * and the chain do that.
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

/** The request and the solver that a quote has to match. */
export interface QuoteExpectations {
  /** The request, as it was sent. */
  request: Record<string, unknown>;
  solver: Address;
  chainId: number;
  /** The hash that the solver says the quote has. */
  claimedHash: Hex;
}

/**
 * Checks a quote before the user sees it. The hash is computed here, with another library than the
 * solver's.
 *
 * @throws {QuoteError}
 */
export function checkQuote(quote: Quote, expected: QuoteExpectations): Offer {
  const { request, solver, chainId, claimedHash } = expected;
  const offered = quoteMessage(quote);
  for (const [field, asked] of Object.entries(request)) {
    if (String(offered[field]) === String(asked)) continue;
    const message = `Quote has ${field} ${offered[field]}: asked for ${asked}`;
    throw new QuoteError("QUOTE_TERMS_MISMATCH", message, { field });
  }
  const typedData = quoteTypedData(quote, chainId);
  const quoteHash = hashTypedData(typedData);
  if (claimedHash !== quoteHash) {
    const message = `Quote has hash ${quoteHash}: the solver says ${claimedHash}`;
    throw new QuoteError("QUOTE_HASH_MISMATCH", message, { quoteHash, claimedHash });
  }
  const signer = signerOf(quoteHash, quote.signature);
  if (signer !== solver || quote.solver !== solver) {
    const message = `Quote of ${quote.solver} is signed by ${
      signer ?? "nobody"
    }: expected ${solver}`;
    throw new QuoteError("QUOTE_SIGNER_MISMATCH", message, { quoteHash, signer, expected: solver });
  }
  return { quote, quoteHash };
}

/** The signer of a signature; undefined if it is malformed. */
function signerOf(digest: Hex, signature: Hex): Address | undefined {
  try {
    return recoverSigner(digest, signature);
  } catch {
    return undefined; // the caller names the signature's fault by who was expected
  }
}
