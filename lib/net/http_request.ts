import { RangemakerError, reasonOf, type Retry } from "../errors.ts";
import { redactUrls } from "../redact.ts";

const REQUEST_TIMEOUT_MS = 10_000;

/** Default limit of an answer's length: a page of a node's price history has 2 MB. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/**
 * No answer came: the service is down, unreachable or too slow. Whether it acted is unknown, so
 * repeat only requests that are idempotent. `code` is `SERVICE_UNREACHABLE`, `SERVICE_TIMEOUT`,
 * `NODE_UNREACHABLE` or `NODE_TIMEOUT`.
 */
export class NetworkError extends RangemakerError {
  /** @param message URLs in it are shown without passwords and keys. */
  constructor(code: string, message: string, cause?: unknown, retry: Retry = "same") {
    super(code, redactUrls(message), { cause, retry });
  }
}

const GATEWAY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

interface RequestOptions {
  /** Sent as the JSON body of a POST; without it the request is a GET. */
  json?: unknown;
  /** Sent besides the content type. */
  headers?: Readonly<Record<string, string>>;
  /** Timeout of the whole answer, its body included. */
  timeoutMs?: number;
  /** Longest body of the answer, {@link ANSWER_BYTES_MAX} by default. */
  maxBytes?: number;
  signal?: AbortSignal | undefined;
}

/** An answer of any status, read to its end. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * Sends one HTTP request and reads the whole answer. Redirects are not followed: a request with an
 * effect must not be repeated wherever an answer points.
 *
 * @throws {NetworkError} `SERVICE_TIMEOUT` or `SERVICE_UNREACHABLE` if no whole answer came, or it
 *   is a redirect or too long. If `signal` is aborted, its reason is thrown, as `fetch` does.
 */
export async function request(
  url: string,
  options: RequestOptions = {},
): Promise<HttpAnswer> {
  const { json, headers, timeoutMs = REQUEST_TIMEOUT_MS, signal } = options;
  const init = json === undefined ? { headers } : {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(json),
  };
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      ...init,
      redirect: "manual",
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const text = await readText(response, options.maxBytes ?? ANSWER_BYTES_MAX);
    return { status: response.status, headers: response.headers, text };
  } catch (cause) {
    signal?.throwIfAborted();
    if (timeout.aborted) {
      const message = `${url} did not answer within ${timeoutMs} ms`;
      throw new NetworkError("SERVICE_TIMEOUT", message, cause);
    }
    const message = `${url} cannot be reached: ${unreachableReason(url, cause)}`;
    throw new NetworkError("SERVICE_UNREACHABLE", message, cause);
  }
}

/** Longest text of an answer that goes into an error. */
export const ERROR_TEXT_MAX = 300;

/** The reason of a failure if a status is that of a gateway in front of the service. */
export function gatewayReason(status: number): string | undefined {
  return GATEWAY_STATUSES.has(status) ? `a gateway in front of it answered ${status}` : undefined;
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const problem = problemOf(response, maxBytes);
  if (problem !== undefined) {
    await response.body?.cancel();
    throw new Error(problem);
  }
  // Without an encoding, the body has the announced length. React Native has no streams.
  const hasLength = response.headers.has("content-length");
  const isBounded = hasLength && !response.headers.has("content-encoding");
  const reader = isBounded ? undefined : response.body?.getReader();
  if (reader === undefined) return await response.text();
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  // Not every browser can iterate over a stream.
  for (let part = await reader.read(); part.value !== undefined; part = await reader.read()) {
    bytes += part.value.length;
    if (bytes > maxBytes) {
      await reader.cancel();
      throw new Error(tooLong(maxBytes));
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

/** Why the body of an answer is not read. */
function problemOf({ status, type, headers }: Response, maxBytes: number): string | undefined {
  // A browser does not report the status of a redirect.
  if (type === "opaqueredirect" || REDIRECTS.has(status)) {
    return "it answered with a redirect, which is not followed: use the URL that it leads to";
  }
  return Number(headers.get("content-length")) > maxBytes ? tooLong(maxBytes) : undefined;
}

function tooLong(maxBytes: number): string {
  return `its answer is longer than ${maxBytes} bytes`;
}

/** Why a request got no answer; in a browser, with advice for a service that refuses the page. */
export function unreachableReason(url: string, thrown: unknown): string {
  const cause = thrown instanceof NetworkError ? thrown.cause : thrown;
  // `fetch` fails with a TypeError; others are answers that cannot be used.
  return reasonOf(cause) + (cause instanceof TypeError ? originHint(url) : "");
}

/**
 * Advice about CORS, to be added to the reason of a failed connection; empty outside browsers and
 * for a page's own origin. A browser does not say whether a service is down or refuses the page.
 */
export function originHint(url: string): string {
  const origin = globalThis.location?.origin;
  if (origin === undefined || !/^(http|ws)s?:/.test(url) || `${url}/`.startsWith(`${origin}/`)) {
    return "";
  }
  return `; if it is up, it may refuse this page (CORS): add ${origin} to its --cors-origins`;
}
