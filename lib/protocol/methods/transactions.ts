import * as z from "zod";
import { receiptSchema } from "../receipt.ts";
import { hash32Schema } from "../scalars.ts";
import { thesisSchema } from "../thesis.ts";
import { transactionSchema } from "../transaction.ts";
import type { MethodTable } from "./definition.ts";
import { thesisIdParams } from "./reads.ts";

/** Transactions and settlement. */
export const transactionMethods = {
  core_sendTransaction: {
    summary: "Submits a signed transaction; the same one again gives the same receipt",
    params: z.object({ transaction: transactionSchema }),
    result: receiptSchema,
    access: "write",
    isCostly: true,
  },
  core_settleThesis: {
    summary: "Attempts to settle a thesis",
    params: thesisIdParams,
    result: thesisSchema,
    access: "write",
    isCostly: true,
  },
  core_simulateTransaction: {
    summary: "The receipt that a transaction would get now; nothing changes",
    params: z.object({ transaction: transactionSchema }),
    result: receiptSchema,
    isCostly: true,
  },
  core_getTransaction: {
    summary: "The receipt of a transaction, or null",
    params: z.object({ hash: hash32Schema }),
    result: z.nullable(receiptSchema),
  },
} satisfies MethodTable;
