import { z } from "zod";
import { described, uint256Schema, uint64Schema } from "../../lib/protocol/scalars.ts";
import { toWire } from "../../lib/json.ts";
import { thesisSchema } from "../../lib/protocol/thesis.ts";
import { cursorSchema, cutPage, limitSchema, nextCursorSchema } from "../../lib/http/page_query.ts";
import { riskOf } from "../../lib/protocol/bet.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";

const THESES_PER_PAGE_MAX = 1_000;

const THESES_PER_PAGE_DEFAULT = 100;

export const thesesQuerySchema = z.object({
  limit: limitSchema(THESES_PER_PAGE_MAX, THESES_PER_PAGE_DEFAULT),
  cursor: cursorSchema.prefault("0"),
});

/** Answer of `GET /theses`; amounts in USDC with 6 decimals. */
export const thesesAnswerSchema = z.object({
  exposure: described(
    uint256Schema,
    "The most that can be lost, over all price paths, on open theses and on executions under way, " +
      "USDC, 6 decimals",
  ),
  executing: described(
    uint256Schema,
    "At risk in executions under way, USDC, 6 decimals",
  ),
  maxExposure: z.nullable(uint64Schema).describe("Bound on the exposure, or null"),
  complete: z.boolean()
    .describe("Every open thesis is known; otherwise the exposure may be higher or lower"),
  count: z.number().int().nonnegative().describe("Number of known open theses"),
  theses: z.array(thesisSchema).describe("Oldest first"),
  nextCursor: nextCursorSchema,
});

/** A page of the solver's open theses, with its exposure. */
export function viewTheses(
  book: ExposureBook,
  { limit, cursor }: z.output<typeof thesesQuerySchema>,
): z.input<typeof thesesAnswerSchema> {
  const { openTheses: theses } = book;
  const rest = theses.filter(({ id }) => id > cursor);
  const { items, nextCursor } = cutPage(rest, limit, ({ id }) => id);
  return {
    exposure: book.exposure.toString(),
    executing: theses.reduce((rest, thesis) => rest - riskOf(thesis), book.total).toString(),
    maxExposure: book.maxExposure?.toString() ?? null,
    complete: book.isComplete,
    count: theses.length,
    theses: items.map((thesis) => toWire(thesis)),
    nextCursor,
  };
}
