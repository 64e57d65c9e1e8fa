import * as z from "zod";
import { addressSchema, quantitySchema } from "../scalars.ts";
import type { MethodTable } from "./definition.ts";

/** Kinds of `eth_subscribe`. */
export const SUBSCRIPTION_KINDS = ["newHeads", "theses", "prices", "transactions"] as const;

export type SubscriptionKind = (typeof SUBSCRIPTION_KINDS)[number];

const BLOCK_RULE = "Expected a block number as hex, or a tag such as latest";

/** Methods that have their names from Ethereum or OpenRPC, so that its clients connect. */
export const ethereumMethods = {
  eth_chainId: {
    summary: "The chain id, as hex",
    result: quantitySchema,
  },
  net_version: {
    summary: "The chain id, as decimal text",
    result: z.string(),
  },
  web3_clientVersion: {
    summary: "Name and version of the node",
    result: z.string(),
  },
  eth_blockNumber: {
    summary: "Number of the newest block",
    result: quantitySchema,
  },
  eth_getBlockByNumber: {
    summary: "A block, or null",
    params: z.object({
      block: z.union([
        z.enum(["latest", "pending", "safe", "finalized", "earliest"]),
        z.string().regex(/^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,12})$/, BLOCK_RULE),
      ], { error: BLOCK_RULE }),
      withTransactions: z.boolean().optional(),
    }),
    result: z.looseObject({
      number: quantitySchema,
      hash: z.string(),
      timestamp: quantitySchema,
      timestampMs: z.number(),
    }).describe("In Ethereum's format; `timestampMs` is exact").nullable(),
  },
  eth_subscribe: {
    summary: "Subscribes to changes; `filter` is for theses",
    params: z.object({
      kind: z.enum(SUBSCRIPTION_KINDS, {
        error: `Expected one of ${SUBSCRIPTION_KINDS.join(", ")}`,
      }),
      filter: z.strictObject({ user: z.optional(addressSchema), solver: z.optional(addressSchema) })
        .prefault({}),
    }),
    result: z.string().describe("Id of the subscription"),
    access: "subscription",
  },
  eth_unsubscribe: {
    summary: "Ends a subscription",
    params: z.object({ id: z.string() }),
    result: z.boolean(),
    access: "subscription",
  },
  "rpc.discover": {
    summary: "This document",
    result: z.looseObject({ openrpc: z.string() }),
    isCostly: true,
    hasLargeAnswer: true,
  },
} satisfies MethodTable;
