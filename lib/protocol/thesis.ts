import * as z from "zod/mini";
import {
  addressSchema,
  described,
  hash32Schema,
  timestampSchema,
  uint64Schema,
} from "./scalars.ts";
import { betShape } from "./bet.ts";

/** States of a thesis; `won` and `lost` are seen from the user. */
export const thesisStatusSchema = z.enum(["open", "needs_backfill", "won", "lost"]);

/** One of the states of a thesis. */
export type ThesisStatus = z.output<typeof thesisStatusSchema>;

/** A thesis as the core node returns it (`core_getThesis`, the `theses` subscription). */
export const thesisSchema = described(
  z.object({
    id: z.int().check(z.positive()),
    user: addressSchema,
    solver: addressSchema,
    ...betShape,
    payout: uint64Schema,
    createdAt: timestampSchema,
    quoteHash: hash32Schema,
    txHash: hash32Schema,
    status: thesisStatusSchema,
    settledAt: z.optional(timestampSchema),
    breach: described(
      z.optional(z.object({ time: timestampSchema, price: uint64Schema })),
      "The slot that decided against the user",
    ),
  }),
  { id: "Thesis", description: "A bet in the ledger" },
);

/**
 * A bet in the ledger; times in Unix milliseconds. The winner gets the `payout`: the user, or the
 * solver if the bet is `lost`, with `breach` as the slot that decided it.
 */
export type Thesis = z.output<typeof thesisSchema>;

/**
 * Whether a thesis still locks money: it is open, or waits for missing prices.
 *
 * @example
 * ```ts
 * const open = watch.theses.filter(({ status }) => isUnsettled(status));
 * ```
 */
export function isUnsettled(status: ThesisStatus): boolean {
  return status === "open" || status === "needs_backfill";
}
