/**
 * The parameters of the node's methods, by name in the order in which callers send them; each schema
 * names its methods.
 */
import { z } from "zod";
import { BACKFILL_SLOTS_MAX } from "../../../lib/protocol/constants.ts";
import { addressSchema, hash32Schema, timestampSchema } from "../../../lib/protocol/scalars.ts";
import { thesisStatusSchema } from "../../../lib/protocol/thesis.ts";
import { transactionSchema } from "../../../lib/protocol/transaction.ts";
import { SUBSCRIPTION_KINDS } from "./subscriptions.ts";

/** Methods without parameters. */
export const noParams = z.object({});
/** `core_sendTransaction` and `core_simulateTransaction`. */
export const transactionParams = z.object({ transaction: transactionSchema });
/** `core_getThesis` and `core_settleThesis`. */
export const thesisIdParams = z.object({
  id: z.number().int().positive("Expected the id of a thesis"),
});
/** `eth_unsubscribe`. */
export const subscriptionIdParams = z.object({ id: z.string() });

/** Most theses on a page, and the default. */
const THESES_PAGE_MAX = 1_000;
const THESES_PAGE_DEFAULT = 100;

/** `core_getTheses`. */
export const thesesParams = z.object({
  filter: z.object({
    user: addressSchema.optional(),
    solver: addressSchema.optional(),
    status: thesisStatusSchema.optional(),
    limit: z.number().int().min(1).max(THESES_PAGE_MAX).default(THESES_PAGE_DEFAULT),
    cursor: z.string().regex(/^\d{1,15}$/, "Expected the nextCursor of an answer").optional(),
  }).prefault({}),
});

/** `core_getPriceHistory`. */
export const historyParams = z.object({
  query: z.object({
    base: addressSchema,
    quote: addressSchema,
    from: timestampSchema,
    to: timestampSchema,
    limit: z.number().int().min(1).max(BACKFILL_SLOTS_MAX).default(BACKFILL_SLOTS_MAX),
    cursor: z.string().regex(/^\d{1,15}$/, "Expected the nextCursor of an answer").optional(),
  }),
});

const BLOCK_RULE = "Expected a block number as hex, or a tag such as latest";

/** `eth_getBlockByNumber`. */
export const blockParams = z.object({
  block: z.union([
    z.enum(["latest", "pending", "safe", "finalized", "earliest"]),
    z.string().regex(/^0x(0|[1-9a-f][0-9a-f]{0,12})$/i, BLOCK_RULE),
  ], { error: BLOCK_RULE }),
  withTransactions: z.boolean().optional(),
});

/** `eth_subscribe`. */
export const subscribeParams = z.object({
  kind: z.enum(SUBSCRIPTION_KINDS, { error: `Expected one of ${SUBSCRIPTION_KINDS.join(", ")}` }),
  filter: z.object({ user: addressSchema.optional(), solver: addressSchema.optional() })
    .prefault({}),
});

/** `core_getAccount`. */
export const addressParams = z.object({ address: addressSchema });

/** `core_getTransaction`. */
export const hashParams = z.object({ hash: hash32Schema });
