import { z } from "zod";
import type { Intent } from "../../../lib/intents/intent.ts";
import { SubmissionFailure } from "../../../lib/intents/submitter.ts";
import type { ExecuteResult } from "../../../lib/protocol/answers.ts";
import { quoteSchema, quoteToWire } from "../../../lib/protocol/quote.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import { signatureSchema } from "../../../lib/protocol/scalars.ts";
import { RequestError } from "../../../lib/http/envelope.ts";

/** Body of `POST /execute`, and what the store keeps of an execution. */
export const executionSchema = z.object({
  quote: quoteSchema,
  userSignature: signatureSchema.describe("The user's signature over the quote hash"),
}).meta({ id: "Execution" });

/** A quote that solver and user have signed. */
export type Execution = z.output<typeof executionSchema>;

/** The execution as the store keeps it. */
export function encodeExecution({ quote, userSignature }: Execution): string {
  return JSON.stringify({ quote: quoteToWire(quote), userSignature });
}

/** Reads what {@link encodeExecution} wrote. */
export function decodeExecution(text: string): Execution {
  return executionSchema.parse(JSON.parse(text));
}

/**
 * The result that a finished execution has for good.
 *
 * @throws {RequestError} If it ended without a receipt: no transaction was recorded by the node.
 */
export function resultOf(intent: Intent): ExecuteResult {
  if (intent.receipt === null) {
    const { code, message } = intent.failure ?? { code: "UNKNOWN", message: "No reason recorded" };
    throw new RequestError(code === SubmissionFailure.deadlinePassed ? 400 : 503, code, message);
  }
  const { txHash, status, thesisId, error } = receiptSchema.parse(JSON.parse(intent.receipt));
  return { txHash, status, thesisId, error };
}
