/** Cursor pagination: the query of routes that answer page by page, and cutting a page. */
import { z } from "zod";

const WHOLE_NUMBER = /^\d{1,15}$/;

/** Most items in one answer: 1 to `max`, `byDefault` unless given. */
export function limitSchema(max: number, byDefault: number) {
  const rule = `Expected 1 to ${max}`;
  const count = z.number({ error: rule }).int(rule).min(1, rule).max(max, rule).default(byDefault);
  const numberOf = (text: unknown) =>
    typeof text === "string" && WHOLE_NUMBER.test(text) ? Number(text) : text;
  return z.preprocess(numberOf, count).describe("Most items in the answer");
}

/** `nextCursor` of the previous answer, parsed to a number. */
export const cursorSchema = z.string().regex(WHOLE_NUMBER, "Expected the nextCursor of an answer")
  .transform(Number).describe("`nextCursor` of the previous answer");

/** `nextCursor` of an answer: null if nothing follows. */
export const nextCursorSchema = z.string().regex(WHOLE_NUMBER).nullable()
  .describe("`cursor` of the next page, or null");

export interface PageOf<T> {
  items: T[];
  nextCursor: string | null;
}

/**
 * Takes one page from the matches. It reads at most one match more than `limit`, to see whether
 * another page follows.
 *
 * @param cursorOf The cursor of the next page, made from the last item of this page.
 */
export function cutPage<T>(
  matches: Iterable<T>,
  limit: number,
  cursorOf: (item: T) => number,
): PageOf<T> {
  const items: T[] = [];
  for (const item of matches) {
    const last = items.at(-1);
    if (items.length === limit && last !== undefined) {
      return { items, nextCursor: cursorOf(last).toString() };
    }
    items.push(item);
  }
  return { items, nextCursor: null };
}
