/** The query of routes that answer page by page. */
import { z } from "zod";

/** Whole numbers as queries carry them. */
const WHOLE_NUMBER = /^\d{1,15}$/;

/** How many items one answer may hold: 1 to `max`, `usual` where the caller names no number. */
export function limitSchema(max: number, usual: number) {
  const rule = `Expected 1 to ${max}`;
  const count = z.number({ error: rule }).int(rule).min(1, rule).max(max, rule).default(usual);
  const numberOf = (text: unknown) =>
    typeof text === "string" && WHOLE_NUMBER.test(text) ? Number(text) : text;
  return z.preprocess(numberOf, count).describe("Most items in the answer");
}

/** Where the answer before ended: its `nextCursor`, given as a number. */
export const cursorSchema = z.string().regex(WHOLE_NUMBER, "Expected the nextCursor of an answer")
  .transform(Number).describe("`nextCursor` of the answer before");

/** `nextCursor` of an answer: null where nothing follows. */
export const nextCursorSchema = z.string().regex(WHOLE_NUMBER).nullable()
  .describe("`cursor` of the next page, or null");
