import { z } from "zod";
import { addressSchema, timestampSchema, uint64Schema } from "./scalars.ts";

/** One value in `prices` of the oracle's `GET /prices` (spec: price oracle, "Price entry"). */
export const priceEntrySchema = z.object({
  base: addressSchema,
  quote: addressSchema,
  price: uint64Schema.refine((price) => price > 0n, "Expected a price above 0"),
  decimals: z.literal(6, { error: "Expected 6 decimals" }),
  lastUpdate: timestampSchema,
  sources: z.array(z.string()).min(1),
});

/** A trusted price: `lastUpdate` is the newest receipt among its sources, Unix milliseconds. */
export type PriceEntry = z.output<typeof priceEntrySchema>;

/** The body of the oracle's `GET /prices`. */
export const oraclePricesSchema = z.object({
  timestamp: timestampSchema,
  prices: z.record(z.string(), priceEntrySchema),
});

/** All prices of one answer, by symbol. */
export type OraclePrices = z.output<typeof oraclePricesSchema>;

/** One value of `core_getPrices`: the write node's simplified view. */
export const nodePriceSchema = z.object({
  base: addressSchema,
  quote: addressSchema,
  price: uint64Schema,
  decimals: z.literal(6),
  lastUpdate: timestampSchema,
  ageMs: z.number().int().nonnegative(),
  state: z.enum(["fresh", "stale"]),
});

/** A market's price as the node last pulled it, and whether bets on it are taken. */
export type NodePrice = z.output<typeof nodePriceSchema>;
