/** Links that open a box that another user has drawn. */
import * as z from "zod/mini";
import { type DraftFields, parseFields } from "./draft.ts";
import { EMPTY_FIELDS } from "./suggested_draft.ts";
import { fieldsSchema } from "./draft_store.ts";

/** A linked box. It never contains an amount: the reader decides how much to bet. */
interface LinkedBox {
  symbol: string;
  fields: Omit<DraftFields, "amount">;
}

const linkSchema = z.extend(z.omit(fieldsSchema, { amount: true }), {
  symbol: z.string().check(z.maxLength(40)),
});

/** The address of the page with a box behind its `#`. */
export function linkTo(page: string, { symbol, fields }: LinkedBox): string {
  const { lower, upper, startsIn, lasts } = fields;
  const parts = new URLSearchParams({ symbol, lower, upper, startsIn, lasts });
  return `${page.split("#")[0]}#trade?${parts}`;
}

/** The box behind the `#` of an address; undefined if the address is no link to a box. */
export function findLinkedBox(hash: string): LinkedBox | "invalid" | undefined {
  const [view, parts] = hash.split("?");
  if (view !== "#trade" || parts === undefined) return undefined;
  const { data } = linkSchema.safeParse(Object.fromEntries(new URLSearchParams(parts)));
  if (data === undefined) return "invalid";
  const { symbol, ...fields } = data;
  const { amount } = EMPTY_FIELDS;
  return parseFields({ ...fields, amount }).draft ? { symbol, fields } : "invalid";
}
