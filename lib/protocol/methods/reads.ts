import * as z from "zod/mini";
import { accountSchema } from "../account.ts";
import { BACKFILL_SLOTS_MAX } from "../constants.ts";
import { nodePriceSchema } from "../price.ts";
import { addressSchema, described, timestampSchema, uint64Schema } from "../scalars.ts";
import { thesisSchema, thesisStatusSchema } from "../thesis.ts";
import type { MethodTable } from "./definition.ts";

/** Most theses on a page, and the default. */
export const THESES_PAGE_MAX = 1_000;
const THESES_PAGE_DEFAULT = 100;

const cursorSchema = z.string().check(
  z.regex(/^\d{1,15}$/, "Expected the nextCursor of an answer"),
);

/** Most entries on a page. */
function limitSchema(max: number, defaultLimit = max) {
  return z._default(z.number().check(z.int(), z.minimum(1), z.maximum(max)), defaultLimit);
}

/** The id of a thesis as the only parameter. */
export const thesisIdParams = z.object({
  id: z.number().check(z.int(), z.positive("Expected the id of a thesis")),
});

/** Narrows `core_getTheses`, and pages through its answer. */
export const thesisFilterSchema = z.strictObject({
  user: z.optional(addressSchema),
  solver: z.optional(addressSchema),
  status: z.optional(thesisStatusSchema),
  limit: limitSchema(THESES_PAGE_MAX, THESES_PAGE_DEFAULT),
  cursor: z.optional(cursorSchema),
});

/** Slots that start in `[from, to)`, Unix milliseconds. */
export const spanSchema = z.object({ from: timestampSchema, to: timestampSchema });

/** Reads of accounts, theses and prices. */
export const readMethods = {
  core_getAccount: {
    summary: "Balance, locked amount and permissions of an account",
    params: z.object({ address: addressSchema }),
    result: accountSchema,
  },
  core_getThesis: {
    summary: "One thesis, or null",
    params: thesisIdParams,
    result: z.nullable(thesisSchema),
  },
  core_getTheses: {
    summary: "A page of theses, oldest first",
    params: z.object({
      filter: z.prefault(thesisFilterSchema, {}),
    }),
    result: z.object({
      theses: z.array(thesisSchema),
      nextCursor: z.nullable(z.string()),
      /** Id of the newest thesis of the chain, also if it was deleted; 0 before the first. */
      lastId: z.optional(z.number().check(z.int(), z.nonnegative())),
    }),
    isCostly: true,
    hasLargeAnswer: true,
  },
  core_getPrices: {
    summary: "Newest prices by symbol, and whether bets on them are accepted",
    result: z.record(z.string(), nodePriceSchema),
  },
  core_getPriceHistory: {
    summary: "A page of recorded prices of a market, one for each slot of 100 ms",
    params: z.object({
      query: z.object({
        base: addressSchema,
        quote: addressSchema,
        from: timestampSchema,
        to: timestampSchema,
        limit: limitSchema(BACKFILL_SLOTS_MAX),
        cursor: z.optional(cursorSchema),
      }),
    }),
    result: z.object({
      prices: z.array(z.object({ time: timestampSchema, price: uint64Schema })),
      missing: z.array(spanSchema),
      nextCursor: z.nullable(z.string()),
    }),
    isCostly: true,
    hasLargeAnswer: true,
  },
  core_getLimits: {
    summary: "Bounds of new theses",
    result: z.object({
      minBetAmount: described(uint64Schema, "Smallest bet, USDC with 6 decimals"),
      maxStartAheadMs: described(
        z.number().check(z.int(), z.nonnegative()),
        "How far ahead of its submission a window may start",
      ),
    }),
  },
  core_getOracleStatus: {
    summary: "Pulls of the oracle, ages of its prices, and whether new theses are accepted",
    result: z.looseObject({}),
  },
} satisfies MethodTable;

/** One page of theses, oldest first. It may be empty although more follow. */
export type ThesesPage = z.output<typeof readMethods.core_getTheses.result>;

/** One page of recorded prices, oldest first, and the spans of slots that have none. */
export type HistoryPage = z.output<typeof readMethods.core_getPriceHistory.result>;
