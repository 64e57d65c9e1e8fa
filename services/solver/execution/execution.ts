import { z } from "zod";
import type { Intent } from "../../../lib/intents/intent.ts";
import type { ExecuteResult } from "../../../lib/protocol/answers.ts";
import { quoteSchema, quoteToWire, receivedQuoteSchema } from "../../../lib/protocol/quote.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import { signatureSchema } from "../../../lib/protocol/scalars.ts";
import { RangemakerError } from "../../../lib/errors.ts";

/** Body of `POST /execute`. */
export const executionRequestSchema = z.object({
  quote: receivedQuoteSchema,
  userSignature: signatureSchema.describe("The user's signature over the quote hash"),
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

/**
 * The final result of an execution.
 *
 * @throws {RangemakerError} If it ended without a receipt: the node recorded no transaction.
 */
export function resultOf(intent: Intent): ExecuteResult {
  if (intent.receipt === null) {
    if (intent.failure === null) throw new TypeError(`Intent ${intent.key} is not final`);
    throw new RangemakerError(intent.failure.code, intent.failure.message);
  }
  const { txHash, status, thesisId, error } = receiptSchema.parse(JSON.parse(intent.receipt));
  return { txHash, status, thesisId, error };
}
