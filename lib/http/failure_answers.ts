/** The failures of solver and bridge as their OpenAPI documents show them. */
import { z } from "zod";
import type { HttpErrorCode } from "./error_status.ts";
import type { Answer } from "./openapi.ts";

/** A failure: which rule was broken, and by what (spec: quote solver, "Errors"). */
export const failureSchema = z.object({
  success: z.literal(false),
  error: z.string().min(1).describe("What was wrong, for people"),
  code: z.string().min(1).describe("What was wrong, for programs"),
  details: z.record(z.string(), z.unknown()).optional().describe("Facts behind it"),
}).meta({ id: "Failure", description: "A failure, whatever its status" });

/** A failure with one of these codes. */
export function failureAnswer(codes: readonly HttpErrorCode[], description: string): Answer {
  return {
    description,
    body: z.object({ ...failureSchema.shape, code: z.enum(codes) }),
  };
}

/** Codes of every route that asks the core node. */
export const NODE_FAILURES = ["NODE_UNREACHABLE", "NODE_TIMEOUT", "NODE_REFUSED"] as const;

/** For routes that take a body. */
export const tooLarge = failureAnswer(["BODY_TOO_LARGE"], "The body is over 64 KiB");

/** For rate-limited routes. */
export const tooMany: Answer = {
  ...failureAnswer(["RATE_LIMITED"], "Too many requests, from one address or in total"),
  headers: {
    "Retry-After": {
      description: "Seconds after which to try again",
      schema: { type: "integer", minimum: 1 },
    },
  },
};
