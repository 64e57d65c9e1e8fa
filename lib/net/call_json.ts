import * as z from "zod/mini";
import { RangemakerError, type Retry } from "../errors.ts";
import { tryParseJson } from "../json.ts";
import { failureSchema } from "../protocol/answers.ts";
import { describeIssue } from "../protocol/describe_input.ts";
import { redactUrls } from "../redact.ts";
import { ERROR_TEXT_MAX, gatewayReason, NetworkError, request } from "./http_request.ts";

/** Properties of a {@link ServiceError} besides its message. */
interface ServiceErrorOptions {
  status: number;
  details?: Readonly<Record<string, unknown>>;
  /** By default, it follows from the status. */
  retry?: Retry;
  cause?: unknown;
}

/**
 * A service answered with a failure, or with an unexpected answer. `code`, `retry` and `details`
 * come from the answer; the code is `INVALID_ANSWER` if the answer has the wrong shape.
 */
export class ServiceError extends RangemakerError {
  readonly status: number;

  constructor(code: string, message: string, { status, ...options }: ServiceErrorOptions) {
    super(code, redactUrls(message), { retry: retryOfStatus(status), ...options });
    this.status = status;
  }
}

/** How to try again after a failure that does not say so. */
function retryOfStatus(status: number): Retry {
  if (status === 429 || status === 503) return "later";
  return status >= 500 ? "same" : "never";
}

/**
 * `GET`s JSON or, with a body, `POST`s it, and parses the answer.
 *
 * @param options `signal` ends the request early: its reason is thrown.
 * @throws {ServiceError} If the service refuses, or if the answer does not fit the schema.
 * @throws {NetworkError} If no answer came, or one of a gateway that cannot reach the service.
 */
export async function callJson<S extends z.core.$ZodType>(
  url: string,
  schema: S,
  body?: unknown,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<z.output<S>> {
  const { status, text } = await request(url, { json: body, signal });
  const value = tryParseJson(text);
  const failure = failureSchema.safeParse(value);
  if (failure.success) {
    const { code, error, details, retry } = failure.data;
    const options = { status, ...(retry && { retry }), ...(details && { details }) };
    // What the fronts of docs/deployment answer in place of a service that is down.
    if (code === "SERVICE_UNREACHABLE") {
      throw new NetworkError(code, `${url}: ${error}`, undefined, retry ?? retryOfStatus(status));
    }
    const prefix = `${code}: `;
    const message = error.startsWith(prefix) ? error.slice(prefix.length) : error;
    throw new ServiceError(code, message, options);
  }
  const parsed = z.safeParse(schema, value);
  if (parsed.success) return parsed.data;
  const gateway = gatewayReason(status);
  if (gateway !== undefined) {
    const message = `${url} cannot be reached: ${gateway}`;
    throw new NetworkError("SERVICE_UNREACHABLE", message, parsed.error);
  }
  // A service by another program may lack a single field.
  const problem = value === undefined ? "" : ` (${describeIssue(parsed.error)})`;
  const message = `Not a rangemaker service${problem}: ${url} answered ${status}: ` +
    text.slice(0, ERROR_TEXT_MAX);
  throw new ServiceError("INVALID_ANSWER", message, { status, retry: "same", cause: parsed.error });
}
