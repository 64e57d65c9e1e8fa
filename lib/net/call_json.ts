import type { z } from "zod";
import { RangemakerError } from "../errors.ts";

/** A service refused, or answered something else than it should. */
export class ServiceError extends RangemakerError {
  /** HTTP status. */
  readonly status: number;

  constructor(url: string, status: number, message: string, cause?: unknown) {
    super("SERVICE", `${url} answered ${status}: ${message}`, { cause });
    this.status = status;
  }
}

/** How long a service may take to answer. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Longest text of an answer that goes into an error. */
const ANSWER_TEXT_MAX = 300;

/**
 * `GET`s JSON or, with a body, `POST`s it, and parses the answer.
 *
 * @throws {ServiceError} If the answer does not fit the schema, with its status and text.
 */
export async function callJson<S extends z.ZodType>(
  url: string,
  schema: S,
  body?: unknown,
): Promise<z.output<S>> {
  const init = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  const text = await response.text();
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new ServiceError(url, response.status, text.slice(0, ANSWER_TEXT_MAX), cause);
  }
}
