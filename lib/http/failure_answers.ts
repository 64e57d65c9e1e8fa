/** The failures of solver and bridge as their OpenAPI documents show them. */
import { z } from "zod";
import { failureSchema } from "../protocol/answers.ts";
import type { HttpErrorCode } from "./error_status.ts";
import type { Answer } from "./openapi.ts";

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
