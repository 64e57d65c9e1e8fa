/** Error texts for values that do not fit a schema. */
import type * as z from "zod/mini";
import { DEFAULT_MESSAGE } from "../library_messages.ts";
import { redact } from "../redact.ts";

/** The first problem of a value, as `path: message`. */
export function describeIssue(error: z.core.$ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "Invalid value";
  const path = issue.path.map(String).join(".");
  const message = ruleOf(issue);
  return path === "" ? message : `${path}: ${message}`;
}

/** The message of an issue: the schema's own, otherwise one in our wording. */
function ruleOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "unrecognized_keys") return `Unknown key ${issue.keys.join(", ")}`;
  if (!DEFAULT_MESSAGE.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      if (issue.expected === "int") return "Expected a whole number";
      return `Expected ${/^[aeiou]/.test(issue.expected) ? "an" : "a"} ${issue.expected}`;
    case "invalid_value":
      return `Expected one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return `Expected ${issue.inclusive ? "at least" : "more than"} ${issue.minimum}${
        unitOf(issue, issue.minimum)
      }`;
    case "too_big":
      return `Expected ${issue.inclusive ? "at most" : "less than"} ${issue.maximum}${
        unitOf(issue, issue.maximum)
      }`;
    default:
      return issue.message;
  }
}

function unitOf({ origin }: { origin: string }, count: number | bigint): string {
  const unit = origin === "array" ? " item" : origin === "string" ? " character" : "";
  return unit === "" || Number(count) === 1 ? unit : `${unit}s`;
}

/** Characters of a wrong value that an answer shows. */
const SHOWN_CHARS = 60;

/** Like {@link describeIssue}, plus the value that was received there. */
export function describeInput(error: z.core.$ZodError, input: unknown): string {
  let value = input;
  for (const key of error.issues[0]?.path ?? []) {
    value = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
  }
  return `${describeIssue(error)}: received ${describeValue(value)}`;
}

/** Describes a received value for an error: the start of a text, or the kind of another value. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  // A key could have been pasted into a wrong field.
  const text = redact(value.slice(0, 4 * SHOWN_CHARS));
  return JSON.stringify(text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text);
}
