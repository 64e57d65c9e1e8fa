import { z } from "zod";
import type { Intent } from "../../../lib/intents/intent.ts";
import type { ExecuteResult } from "../../../lib/protocol/answers.ts";
import { quoteSchema, quoteToWire, receivedQuoteSchema } from "../../../lib/protocol/quote.ts";
import type { TransactionTerms } from "../../../lib/intents/signed_transaction.ts";
import { IntentRefusedError } from "../../../lib/intents/submitter_options.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import { type Address, described, signatureSchema } from "../../../lib/protocol/scalars.ts";
import { requireSigner } from "../../../lib/protocol/signature.ts";
import { betTermsOf } from "../../../lib/protocol/terms.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import type { QuoteSigner } from "../quoting/quote_signer.ts";

/** Body of `POST /execute`. */
export const executionRequestSchema = z.object({
  quote: receivedQuoteSchema,
  userSignature: described(signatureSchema, "The user's signature over the quote hash"),
}).meta({ id: "Execution" });

/** A quote and its user's signature. */
export type ExecutionRequest = z.output<typeof executionRequestSchema>;

const executionSchema = z.object({ quote: quoteSchema, userSignature: signatureSchema });

/** A quote that solver and user have signed. */
export type Execution = z.output<typeof executionSchema>;

/** A stored execution, with the quoted probability if it is known. */
const storedExecutionSchema = executionRequestSchema.extend({
  probability: z.number().min(0).max(1).optional(),
});

/** A stored execution. Quotes that were recorded before quotes named their solver lack it. */
export type StoredExecution = z.output<typeof storedExecutionSchema>;

/** Writes the payload of an intent. */
export function encodeExecution(
  { quote, userSignature }: Execution,
  probability?: number,
): string {
  return JSON.stringify({ quote: quoteToWire(quote), userSignature, probability });
}

/** Reads the payload of an intent. */
export function decodeExecution(payload: string): StoredExecution {
  return storedExecutionSchema.parse(JSON.parse(payload));
}

/** The parties of the executions of a solver. */
export interface ExecutionParties {
  /** Verifies the solver's signatures. */
  quoteSigner: Pick<QuoteSigner, "require">;
  solver: Address;
  chainId: number;
}

/**
 * A recorded execution.
 *
 * @throws {RangemakerError} If key, quote and the signatures of solver and user do not belong together.
 * @throws {IntentRefusedError} If the quote does not name its solver.
 */
export function verifiedExecution(
  { key, subject, payload, expiresAtMs }: Intent,
  { quoteSigner, solver, chainId }: ExecutionParties,
): Execution {
  const { quote: recorded, userSignature } = decodeExecution(payload);
  if (recorded.solver === undefined) throw quoteWithoutSolver(solver);
  const quote = { ...recorded, solver: recorded.solver };
  const quoteHash = hashQuote(quote, chainId);
  quoteSigner.require(quoteHash, quote.signature);
  requireSigner("User signature", quoteHash, userSignature, quote.user);
  if (key !== quoteHash || subject !== quote.user || expiresAtMs !== quote.deadline) {
    throw new RangemakerError("STORE_DAMAGED", "its columns do not belong to the signed quote");
  }
  return { quote, userSignature };
}

/** The transaction of an execution. */
export function transactionTermsOf({ quote, userSignature }: Execution): TransactionTerms {
  return {
    type: "RfqSubmit",
    user: quote.user,
    ...betTermsOf(quote),
    payout: quote.payout,
    deadline: quote.deadline,
    solverSignature: quote.signature,
    userSignature,
  };
}

/**
 * Quotes once did not name their solver, and both sides signed another hash: the node would refuse
 * the transaction.
 */
function quoteWithoutSolver(solver: Address): IntentRefusedError {
  return new IntentRefusedError(
    "QUOTE_WITHOUT_SOLVER",
    `Quote was signed by an earlier version and does not name its solver ${solver}: the user needs ` +
      "a new quote",
    { details: { solver } },
  );
}

/**
 * The final result of an execution.
 *
 * @throws {RangemakerError} If it ended without a receipt: the node recorded no transaction.
 */
export function resultOf(intent: Intent): ExecuteResult {
  if (intent.receipt === null) {
    if (intent.failure === null) throw new TypeError(`Intent ${intent.key} is not final`);
    const { code, message, details } = intent.failure;
    throw new RangemakerError(code, message, details && { details });
  }
  const { txHash, status, thesisId, error } = receiptSchema.parse(JSON.parse(intent.receipt));
  return { txHash, status, thesisId, error };
}
