import { z } from "zod";
import { thesisToWire, type ThesisWire } from "../../lib/protocol/thesis.ts";
import type { ExposureBook } from "./exposure_book.ts";

/** Theses in one answer at most, and where the caller names no number. */
const PAGE_MAX = 1_000;
const PAGE_DEFAULT = 100;

/** Query of `GET /theses`. */
export const thesesQuerySchema = z.object({
  limit: z.string().regex(/^\d{1,4}$/, `Expected 1 to ${PAGE_MAX}`).transform(Number)
    .refine((limit) => limit >= 1 && limit <= PAGE_MAX, `Expected 1 to ${PAGE_MAX}`)
    .default(PAGE_DEFAULT),
  cursor: z.string().regex(/^\d{1,15}$/, "Expected the nextCursor of an answer").transform(Number)
    .default(0),
});

/** Answer of `GET /theses`; amounts in USDC with 6 decimals. */
export interface ThesesView {
  /** What may be lost on all open theses and on executions under way. */
  exposure: string;
  /** The bound on it, or null. */
  maxExposure: string | null;
  /** Whether every open thesis is known; if not, the exposure may be higher or lower. */
  complete: boolean;
  /** Open theses that are known. */
  count: number;
  /** Oldest first. */
  theses: ThesisWire[];
  /** Id of the last one, where more follow. */
  nextCursor: string | null;
}

/** A page of the solver's open theses, with its exposure. */
export function viewTheses(
  book: ExposureBook,
  { limit, cursor }: z.output<typeof thesesQuerySchema>,
): ThesesView {
  const { theses } = book;
  const rest = theses.filter(({ id }) => id > cursor);
  const page = rest.slice(0, limit);
  return {
    exposure: book.total.toString(),
    maxExposure: book.max?.toString() ?? null,
    complete: book.complete,
    count: theses.length,
    theses: page.map(thesisToWire),
    nextCursor: rest.length > limit ? String(page.at(-1)?.id) : null,
  };
}
