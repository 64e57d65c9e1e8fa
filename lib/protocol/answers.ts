/** Answers of solver and bridge, as far as the specification defines them. */
import * as z from "zod";
import { quoteSchema } from "./quote.ts";
import { receiptSchema } from "./receipt.ts";
import { addressSchema, hash32Schema, uint64Schema } from "./scalars.ts";

/** `GET /health` of the solver. */
export const solverHealthSchema = z.object({
  status: z.literal("ok"),
  solver: addressSchema,
  dryRun: z.boolean().describe("Nothing is executed"),
});

/** Answer of `POST /quote`. */
export const quoteAnswerSchema = z.object({ success: z.literal(true), quote: quoteSchema });

/** Answer of `POST /estimate`. */
export const estimateAnswerSchema = z.object({
  success: z.literal(true),
  estimate: z.object({
    betAmount: uint64Schema,
    payout: uint64Schema.describe("Total payout if the user wins"),
    multiplier: z.string().regex(/^\d+\.\d{4}$/).describe("Payout as a multiple of the bet"),
    solverCollateral: uint64Schema.describe("Payout minus bet"),
  }),
});

/** An estimate in JSON form. */
export type EstimateAnswer = z.input<typeof estimateAnswerSchema>;

/** Answer of `POST /execute`: a `failed` transaction is a result too, with the node's reason. */
export const executeAnswerSchema = z.object({
  success: z.literal(true),
  result: receiptSchema.pick({ txHash: true, status: true, thesisId: true, error: true }),
});

/** Result of an execution (spec: quote solver, "Execute result"). */
export type ExecuteResult = z.output<typeof executeAnswerSchema>["result"];

/** Answer of `POST /deposit`. */
export const depositAnswerSchema = z.object({
  success: z.literal(true),
  txHash: hash32Schema.describe("The deposit transaction, committed"),
});
