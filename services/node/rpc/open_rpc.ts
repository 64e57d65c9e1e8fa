/** The OpenRPC document of the node, from the schemas that parse its parameters and type its results. */
import { z } from "zod";
import config from "../../../deno.json" with { type: "json" };
import { type JsonSchema, toJsonSchema } from "../../../lib/http/openapi.ts";
import { historyPageSchema, thesesPageSchema } from "../../../lib/net/core_client.ts";
import { accountSchema } from "../../../lib/protocol/account.ts";
import { nodePriceSchema } from "../../../lib/protocol/price.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import { thesisSchema } from "../../../lib/protocol/thesis.ts";
import {
  addressParams,
  blockParams,
  hashParams,
  historyParams,
  noParams,
  subscribeParams,
  subscriptionIdParams,
  thesesParams,
  thesisIdParams,
  transactionParams,
} from "./params.ts";

/** One method as the document shows it. */
export interface Description {
  summary: string;
  /** By name, in their order. */
  params?: z.ZodObject;
  result: z.ZodType;
}

const quantitySchema = z.string().regex(/^0x[0-9a-f]+$/);
const blockSchema = z.looseObject({
  number: quantitySchema,
  hash: z.string(),
  timestamp: quantitySchema,
  timestampMs: z.number(),
}).describe("In Ethereum's format; `timestampMs` is exact");
const OVER_WEB_SOCKET = "over WebSocket only";
/** Part of the summary of a write. */
export const ON_WRITE_PORT = "a write: refused on a read port";

const DESCRIPTIONS: Record<string, Description> = {
  core_sendTransaction: {
    summary:
      `Submits a signed transaction; the same one again gives the same receipt; ${ON_WRITE_PORT}`,
    params: transactionParams,
    result: receiptSchema,
  },
  core_settleThesis: {
    summary: `Attempts to settle a thesis; ${ON_WRITE_PORT}`,
    params: thesisIdParams,
    result: thesisSchema,
  },
  core_simulateTransaction: {
    summary: "The receipt that a transaction would get now; nothing changes",
    params: transactionParams,
    result: receiptSchema,
  },
  core_getAccount: {
    summary: "Balance, locked amount and permissions of an account",
    params: addressParams,
    result: accountSchema,
  },
  core_getTransaction: {
    summary: "The receipt of a transaction, or null",
    params: hashParams,
    result: receiptSchema.nullable(),
  },
  core_getThesis: {
    summary: "One thesis, or null",
    params: thesisIdParams,
    result: thesisSchema.nullable(),
  },
  core_getTheses: {
    summary: "A page of theses, oldest first",
    params: thesesParams,
    result: thesesPageSchema,
  },
  core_getPrices: {
    summary: "Newest prices by symbol, and whether bets on them are taken",
    result: z.record(z.string(), nodePriceSchema),
  },
  core_getPriceHistory: {
    summary: "A page of recorded prices of a market, one for each slot of 100 ms",
    params: historyParams,
    result: historyPageSchema,
  },
  core_getOracleStatus: {
    summary: "Pulls of the oracle, ages of its prices, and whether new theses are taken",
    result: z.looseObject({}),
  },
  eth_chainId: { summary: "The chain id, as hex", result: quantitySchema },
  net_version: { summary: "The chain id, as decimal text", result: z.string() },
  web3_clientVersion: { summary: "Name and version of the node", result: z.string() },
  eth_blockNumber: { summary: "Number of the newest block", result: quantitySchema },
  eth_getBlockByNumber: {
    summary: "A block, or null",
    params: blockParams,
    result: blockSchema.nullable(),
  },
  eth_subscribe: {
    summary: `Subscribes to changes; \`filter\` is for theses; ${OVER_WEB_SOCKET}`,
    params: subscribeParams,
    result: z.string().describe("Id of the subscription"),
  },
  eth_unsubscribe: {
    summary: `Ends a subscription; ${OVER_WEB_SOCKET}`,
    params: subscriptionIdParams,
    result: z.boolean(),
  },
  "rpc.discover": {
    summary: "This document",
    result: z.looseObject({ openrpc: z.string() }),
  },
};

/** The schemas of a document that have a name. */
type Components = Record<string, JsonSchema>;

/** Moves the named schemas of a schema to the document's. */
function hoisted(schema: z.ZodType, components: Components): JsonSchema {
  const { $defs, ...own } = toJsonSchema(schema);
  Object.assign(components, $defs);
  return own;
}

function methodOf(name: string, description: Description, components: Components) {
  const { summary, params = noParams, result } = description;
  return {
    name,
    summary,
    paramStructure: "by-position",
    params: Object.entries<z.ZodType>(params.shape).map(([name, schema]) => ({
      name,
      required: !schema.safeParse(undefined).success,
      schema: hoisted(schema, components),
    })),
    result: { name: "result", schema: hoisted(result, components) },
  };
}

/**
 * The document that `rpc.discover` answers with.
 *
 * @param others Methods besides the node's own; those without a description are left out.
 */
export function openRpcDocument(
  others: ReadonlyMap<string, { description?: Description | undefined }> = new Map(),
) {
  const schemas: Components = {};
  const more = [...others].map(([name, { description }]) => [name, description] as const);
  const methods = [...Object.entries(DESCRIPTIONS), ...more].flatMap(([name, description]) =>
    description === undefined ? [] : methodOf(name, description, schemas)
  );
  return {
    openrpc: "1.3.2",
    info: {
      title: "rangemaker core node",
      version: config.version,
      description:
        "Amounts and prices are decimal text with 6 decimals, times Unix milliseconds. " +
        "Errors, limits and what is signed: docs/protocol.md",
      license: { name: config.license },
    },
    methods,
    components: { schemas },
  };
}
