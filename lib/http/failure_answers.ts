/** The failures of solver and bridge as their documents show them; {@link failure} answers them. */
import { z } from "zod";
import type { Answer } from "./openapi.ts";

/** A failure: `error` says which rule was broken, and by what (spec: quote solver, "Errors"). */
export const failureSchema = z.object({
  success: z.literal(false),
  error: z.string().min(1).describe("What was wrong, for a person to act on"),
}).meta({ id: "Failure", description: "A failure, whatever its status" });

/** A failure in plain words. */
export function failing(description: string): Answer {
  return { description, body: failureSchema };
}

/** A failure whose `error` is `<CODE>: <message>`. */
export function failingWith(codes: readonly string[], description: string): Answer {
  const error = z.string().regex(new RegExp(`^(${codes.join("|")}): `))
    .describe("`<CODE>: <message>`");
  return { description, body: z.object({ ...failureSchema.shape, error }) };
}

/** Of every route that takes a body. */
export const tooLarge = failingWith(["INVALID_REQUEST"], "The body is over 64 KiB");

/** Of every route that is limited. */
export const tooMany: Answer = {
  ...failingWith(["RATE_LIMITED"], "Too many requests, from one address or in total"),
  headers: {
    "Retry-After": {
      description: "Seconds after which to try again",
      schema: { type: "integer", minimum: 1 },
    },
  },
};

/** Of every route that asks the core node. */
export const nodeAway = failing("The core node cannot be reached, has paused or refused to tell");
