import type * as z from "zod";
import { redact } from "../redact.ts";
import { describeIssue } from "./scalars.ts";

/** Characters of a wrong value that an answer shows. */
const SHOWN_CHARS = 60;

/** Like {@link describeIssue}, plus the value that was received there. */
export function describeInput(error: z.ZodError, input: unknown): string {
  let value = input;
  for (const key of error.issues[0]?.path ?? []) {
    value = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
  }
  return `${describeIssue(error)}: received ${shownValue(value)}`;
}

/** The start of a text that is no JSON, to be quoted in an answer. */
export function startOf(text: string): string {
  return shownValue(text);
}

/** A wrong value, shortened and without keys, to be quoted in an error. */
export function shownValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  // A key could have been pasted into a wrong field.
  const text = redact(value.slice(0, 4 * SHOWN_CHARS));
  return JSON.stringify(text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text);
}
