/** The failures of solver and bridge as their OpenAPI documents show them. */
import { z } from "zod";
import { failureSchema } from "../protocol/answers.ts";
import type { COMMON_STATUSES, ErrorStatuses } from "./error_status.ts";
import type { Answer } from "./openapi.ts";

/** Describes failures of a service, each with codes of its own table. */
export function failureAnswersOf<S extends ErrorStatuses>() {
  return (codes: readonly (keyof S & string)[], description: string): Answer => ({
    description,
    body: z.object({ ...failureSchema.shape, code: z.enum(codes) }),
  });
}

const failureAnswer = failureAnswersOf<typeof COMMON_STATUSES>();

/** Codes of every route that asks the core node. */
export const NODE_FAILURES = ["NODE_UNREACHABLE", "NODE_TIMEOUT", "NODE_REFUSED"] as const;

/** For routes that take a body. */
export const bodyFailures = {
  403: failureAnswer(["ORIGIN_NOT_ALLOWED"], "A web page whose origin is not in `--cors-origins`"),
  413: failureAnswer(["BODY_TOO_LARGE"], "The body is over 64 KiB"),
  415: failureAnswer(["UNSUPPORTED_MEDIA_TYPE"], "The body is not `application/json`"),
};

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
