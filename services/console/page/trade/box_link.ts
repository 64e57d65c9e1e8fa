/** Links that open a box that another user has drawn. */
import * as z from "zod";
import type { DraftFields } from "./draft.ts";

/** A linked box. It never contains an amount: the reader decides how much to bet. */
export interface LinkedBox {
  symbol: string;
  fields: Omit<DraftFields, "amount">;
}

const text = z.string().max(40);
const linkSchema = z.object({
  symbol: text,
  lower: text,
  upper: text,
  startsIn: text,
  lasts: text,
});

/** The address of the page with a box behind its `#`. */
export function linkTo(page: string, { symbol, fields }: LinkedBox): string {
  const { lower, upper, startsIn, lasts } = fields;
  const parts = new URLSearchParams({ symbol, lower, upper, startsIn, lasts });
  return `${page.split("#")[0]}#trade?${parts}`;
}

/** The box behind the `#` of an address; undefined if there is none. */
export function linkedBox(hash: string): LinkedBox | undefined {
  const [view, parts] = hash.split("?");
  if (view !== "#trade" || parts === undefined) return undefined;
  const parsed = linkSchema.safeParse(Object.fromEntries(new URLSearchParams(parts)));
  if (!parsed.success) return undefined;
  const { symbol, ...fields } = parsed.data;
  return { symbol, fields };
}
