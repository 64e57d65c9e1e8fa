import { RangemakerError, reasonOf } from "../errors.ts";
import { redactUrls } from "../redact.ts";
import { originHint } from "./page_origin.ts";

/** How long a service may take to answer, unless the caller says otherwise. */
export const REQUEST_TIMEOUT_MS = 10_000;

/**
 * No answer came: the service is down, unreachable or too slow. Whether it acted is unknown, so
 * repeat only requests that are idempotent. `code` is `SERVICE_UNREACHABLE`, `SERVICE_TIMEOUT`,
 * `NODE_UNREACHABLE` or `NODE_TIMEOUT`.
 */
export class NetworkError extends RangemakerError {
  /** @param message URLs in it are shown without passwords and keys. */
  constructor(code: string, message: string, cause?: unknown) {
    super(code, redactUrls(message), { cause, retryable: true });
  }
}

export interface RequestOptions {
  /** Sent as the JSON body of a POST; without it the request is a GET. */
  json?: unknown;
  /** Sent besides the content type. */
  headers?: Readonly<Record<string, string>>;
  /** Timeout of the whole answer, its body included. */
  timeoutMs?: number;
  /** Ends the request early. */
  signal?: AbortSignal | undefined;
}

/** An answer of any status, read to its end. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * Sends one HTTP request and reads the whole answer.
 *
 * @throws {NetworkError} `SERVICE_TIMEOUT` or `SERVICE_UNREACHABLE` if no whole answer came.
 */
export async function request(
  url: string,
  { json, headers, timeoutMs = REQUEST_TIMEOUT_MS, signal }: RequestOptions = {},
): Promise<HttpAnswer> {
  const init = json === undefined ? { headers } : {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(json),
  };
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      ...init,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (cause) {
    if (cause instanceof Error && cause.name === "TimeoutError") {
      const message = `${url} did not answer within ${timeoutMs} ms`;
      throw new NetworkError("SERVICE_TIMEOUT", message, cause);
    }
    const message = `${url} cannot be reached: ${unreachableReason(url, cause)}`;
    throw new NetworkError("SERVICE_UNREACHABLE", message, cause);
  }
}

/** Why a request got no answer; in a browser, also what to do if the service refuses the page. */
export function unreachableReason(url: string, thrown: unknown): string {
  const cause = thrown instanceof NetworkError ? thrown.cause : thrown;
  // `fetch` fails with a TypeError; others are aborts and answers that are no JSON.
  return reasonOf(cause) + (cause instanceof TypeError ? originHint(url) : "");
}
