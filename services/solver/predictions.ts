import { z } from "zod";
import { cursorSchema, limitSchema, nextCursorSchema } from "../../lib/http/page_query.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import { hash32Schema } from "../../lib/protocol/scalars.ts";
import { decodeExecution } from "./execution/execution.ts";

/** Rows read for a page, and the default: each is verified against its checksum. */
const ROWS_PER_PAGE_MAX = 200;

export const predictionsQuerySchema = z.object({
  limit: limitSchema(ROWS_PER_PAGE_MAX, ROWS_PER_PAGE_MAX),
  cursor: cursorSchema.prefault("0"),
});

/** Answer of `GET /predictions`. */
export const predictionsAnswerSchema = z.object({
  predictions: z.array(z.object({
    quoteHash: hash32Schema,
    probability: z.number().min(0).max(1).describe("That the price stays in the range"),
  })).describe("Oldest first; fewer than `limit`, even none, if other rows lie between"),
  nextCursor: nextCursorSchema,
});

/** The quoted probabilities of a page of executions. Those with an unknown one are left out. */
export async function viewPredictions(
  store: Pick<IntentStore, "page">,
  { limit, cursor }: z.output<typeof predictionsQuerySchema>,
): Promise<z.input<typeof predictionsAnswerSchema>> {
  const { intents, last } = await store.page(cursor, limit);
  const predictions = intents.flatMap(({ key, payload }) => {
    const { probability } = decodeExecution(payload);
    return probability === undefined ? [] : [{ quoteHash: key, probability }];
  });
  return { predictions, nextCursor: last === 0 ? null : last.toString() };
}
