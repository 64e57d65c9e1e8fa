import { z } from "zod";
import { rowDamaged } from "../../../lib/intents/errors.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import type { ExecuteResult } from "../../../lib/protocol/answers.ts";
import { quoteSchema, quoteToWire, receivedQuoteSchema } from "../../../lib/protocol/quote.ts";
import type { TransactionTerms } from "../../../lib/intents/transactions.ts";
import { RECEIPTS_KEPT_MIN_MS } from "../../../lib/protocol/constants.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import { described, signatureSchema } from "../../../lib/protocol/scalars.ts";
import { requireSigner } from "../../../lib/protocol/signature.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { betOf } from "../../../lib/protocol/bet.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import type { QuoteSigner } from "../quoting/quote_signer.ts";
import type { ReservedBet } from "../risk/exposure_book.ts";

/** Body of `POST /execute`. */
export const executionRequestSchema = z.object({
  quote: receivedQuoteSchema,
  userSignature: described(signatureSchema, "The user's signature over the quote hash"),
}).meta({ id: "Execution" });

export type ExecutionRequest = z.output<typeof executionRequestSchema>;

const executionSchema = z.object({ quote: quoteSchema, userSignature: signatureSchema });

/** A quote that solver and user have signed. */
export type Execution = z.output<typeof executionSchema>;

export function encodeExecution({ quote, userSignature }: Execution): string {
  return JSON.stringify({ quote: quoteToWire(quote), userSignature });
}

export function decodeExecution(payload: string): Execution {
  return executionSchema.parse(JSON.parse(payload));
}

/** Reads the bet from the payload of an intent. */
export function decodeBet(payload: string): ReservedBet {
  return decodeExecution(payload).quote;
}

/**
 * Parses and verifies a recorded execution.
 *
 * @param quoteSigner Verifies the solver's signature.
 * @throws {RangemakerError} If key, quote and both signatures do not belong together.
 */
export function requireExecution(
  { key, user, payload, expiresAtMs }: Intent,
  quoteSigner: Pick<QuoteSigner, "requireOwn">,
  chainId: number,
): Execution {
  const execution = decodeExecution(payload);
  const { quote, userSignature } = execution;
  const quoteHash = hashQuote(quote, chainId);
  quoteSigner.requireOwn(quoteHash, quote.signature);
  requireSigner("User signature", quoteHash, userSignature, quote.user);
  if (key !== quoteHash || user !== quote.user || expiresAtMs !== quote.deadline) {
    throw rowDamaged(key, "its columns do not belong to the signed quote");
  }
  return execution;
}

export function transactionTermsOf({ quote, userSignature }: Execution): TransactionTerms {
  return {
    type: "RfqSubmit",
    user: quote.user,
    ...betOf(quote),
    payout: quote.payout,
    deadline: quote.deadline,
    solverSignature: quote.signature,
    userSignature,
  };
}

/**
 * What a node has of a committed bet: its thesis, or why there is none. `pruned`: it ended so long
 * ago that the node may have deleted it. `missing`: every node of its chain must have it.
 * `rewound`: the chain went back: another bet has this id, or the newest bet has a lower one.
 */
type ThesisCheck =
  | { outcome: "found"; thesis: Thesis }
  | { outcome: "pruned" | "missing" | "rewound"; thesis?: undefined };

/** Looks for the thesis of a committed execution. */
export async function checkThesis(
  node: Pick<CoreClient, "getThesis" | "getTheses">,
  { key, payload, receipt }: Intent,
  nowMs: number,
): Promise<ThesisCheck> {
  const { thesisId } = receiptSchema.parse(JSON.parse(receipt ?? "null"));
  const thesis = thesisId === undefined ? null : await node.getThesis(thesisId);
  if (thesis !== null) {
    return thesis.quoteHash === key ? { outcome: "found", thesis } : { outcome: "rewound" };
  }
  const { endTime } = decodeExecution(payload).quote;
  if (thesisId === undefined || nowMs <= endTime + RECEIPTS_KEPT_MIN_MS) {
    return { outcome: "missing" };
  }
  // Another implementation of the node may not say how far the chain is.
  const { lastId = thesisId } = await node.getTheses({ cursor: `${thesisId}`, limit: 1 });
  return { outcome: lastId < thesisId ? "rewound" : "pruned" };
}

/**
 * The final result of an execution.
 *
 * @throws {RangemakerError} If it failed without a receipt: the node recorded no transaction.
 */
export function requireResult(intent: Intent): ExecuteResult {
  if (intent.receipt === null) {
    if (intent.failure === null) throw new TypeError(`Intent ${intent.key} is not final`);
    const { code, message, details } = intent.failure;
    const isUnsent = intent.transaction === null; // and will never be sent
    const facts = { ...details, ...(isUnsent && { usedUp: true }) };
    throw new RangemakerError(code, message, { details: facts });
  }
  const { txHash, status, thesisId, error } = receiptSchema.parse(JSON.parse(intent.receipt));
  return { txHash, status, thesisId, error };
}
