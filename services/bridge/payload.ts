import type { z } from "zod";
import { type DepositRequest, depositRequestSchema } from "../../lib/protocol/deposit.ts";
import { hash32Schema, type Hex } from "../../lib/protocol/scalars.ts";

const payloadSchema = depositRequestSchema.extend({ externalTxHash: hash32Schema });

/** What the store keeps of a deposit beside its transaction: the request and its external hash. */
export type DepositPayload = z.output<typeof payloadSchema>;

/** The payload as the store keeps it. */
export function encodePayload(request: DepositRequest, externalTxHash: Hex): string {
  return JSON.stringify({
    ...request,
    amount: request.amount.toString(),
    nonce: request.nonce.toString(),
    externalTxHash,
  });
}

/** Reads what {@link encodePayload} wrote. */
export function decodePayload(text: string): DepositPayload {
  return payloadSchema.parse(JSON.parse(text));
}
