import * as z from "zod";
import { DAY_MS } from "../../time.ts";
import { receiptSchema } from "../receipt.ts";
import { addressSchema, positiveUint64Schema, timestampSchema } from "../scalars.ts";
import type { MethodTable } from "./definition.ts";

/** The longest jump, so that filling its slots takes no longer than a second or two. */
const ADVANCE_MAX_MS = DAY_MS;

const snapshotIdSchema = z.number().int().positive("Expected the id of a snapshot");

const momentSchema = z.object({ now: timestampSchema, blockNumber: z.number().int() });

/** Methods of development chains (docs/protocol.md, "Development methods of the node"). */
export const developmentMethods = {
  core_faucet: {
    summary: "Deposits USDC as the development relayer",
    params: z.object({
      address: addressSchema,
      amount: positiveUint64Schema("Expected an amount of at least 1"),
    }),
    result: receiptSchema,
    access: "write",
    isCostly: true,
  },
  core_snapshot: {
    summary: "Takes a snapshot of the chain and gives its id",
    result: snapshotIdSchema,
    access: "write",
    isCostly: true,
  },
  core_revert: {
    summary: "Goes back to a snapshot: ledger, blocks, prices and clock",
    params: z.object({ id: snapshotIdSchema }),
    result: momentSchema,
    access: "write",
    isCostly: true,
  },
  core_advance: {
    summary: "Moves the clock of the chain forwards and settles what ends",
    params: z.object({
      jump: z.strictObject({
        ms: z.number().int().min(1).max(ADVANCE_MAX_MS),
        prices: z.record(z.string(), positiveUint64Schema("Expected a price above 0")).default({}),
      }),
    }),
    result: momentSchema,
    access: "write",
    isCostly: true,
  },
} satisfies MethodTable;
