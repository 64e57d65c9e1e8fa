import { messageOf } from "../../../lib/errors.ts";
import { pathOf, type Served } from "../../../lib/http/listener.ts";
import { serviceLog } from "../../../lib/http/logging.ts";
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { type ByteBudget, SMALL_BYTES } from "../byte_budget.ts";
import type { AddressCounts, OverRate } from "../address_counts.ts";
import type { CallerAddress } from "../../../lib/http/caller_address.ts";
import type { ProxyMetrics } from "../metrics.ts";
import type { Cors } from "./cors.ts";
import { badRequest, failureText, limitExceeded, originRefused, ProxyError } from "./failures.ts";
import type { RoutedAnswer, Router } from "./router.ts";

const log = serviceLog("proxy");

/** `Deno.serve` sends a response with exactly these headers ten times as fast as others. */
const JSON_ALONE = { "content-type": "application/json" };

/** Timeout of a body over {@link SMALL_BYTES}: 170 KiB/s for the default limit. */
export const BODY_TIMEOUT_MS = 30_000;

/** Options of an {@link RpcEndpoint}. */
export interface RpcEndpointOptions {
  router: Router;
  cors: Cors;
  metrics: ProxyMetrics;
  maxBodyBytes: number;
  addressOf: (headers: Headers, remote: string) => CallerAddress;
  /** Open requests by address. */
  openRequests: AddressCounts;
  /** Bytes of large bodies and answers in memory. */
  budget: ByteBudget;
  /** Not set: no limit. */
  overRate?: OverRate;
}

/**
 * `POST /`: a message in, its answer out. It is separate from the other routes because it is the hot
 * path: middleware that rewrites headers or streams the body would be slower than the rest.
 */
export class RpcEndpoint {
  readonly #options: RpcEndpointOptions;

  constructor(options: RpcEndpointOptions) {
    this.#options = options;
  }

  /** Answers `POST /`; undefined for every other request. */
  handle(request: Request, remote: string, served?: Served): Promise<Response> | undefined {
    if (request.method !== "POST" || pathOf(request.url) !== "/") return undefined;
    return this.#handle(request, remote, served);
  }

  async #handle(request: Request, remote: string, served?: Served): Promise<Response> {
    const { router, metrics, cors, openRequests, maxBodyBytes } = this.#options;
    const startedAtMs = performance.now();
    const origin = request.headers.get("origin");
    const address = this.#options.addressOf(request.headers, remote);
    let answer: RoutedAnswer;
    let retryAfterS: number | undefined;
    let reserved = 0;
    if (openRequests.tryAdd(address)) {
      try {
        const { overRate } = this.#options;
        if (overRate !== undefined) retryAfterS = await overRate(address);
        // Browsers send some POSTs without a preflight, so hiding the answer would not be enough.
        if (!cors.allows(origin)) throw originRefused(origin);
        if (retryAfterS !== undefined) {
          metrics.countRefusal("request_rate");
          throw rateLimited(retryAfterS);
        }
        const bytes = declaredBytes(request);
        let text: string | undefined;
        if (bytes <= SMALL_BYTES && bytes <= maxBodyBytes) text = await request.text();
        else {
          reserved = this.#reserve(bytes);
          text = await textWithin(request, maxBodyBytes);
        }
        if (text === undefined) throw bodyTooLarge(maxBodyBytes);
        answer = await router.answer(text, address);
      } catch (thrown) {
        answer = refusal(thrown);
      } finally {
        openRequests.remove(address);
        if (reserved > 0) this.#options.budget.remove(reserved);
      }
    } else {
      metrics.countRefusal("requests_per_address");
      answer = refusal(
        limitExceeded(429, "Too many open requests from this address: wait for an answer"),
      );
    }
    if (isLarge(answer)) answer = this.#hold(answer, served);
    const { status, body, target } = answer;
    metrics.countHttp("POST", target, status, performance.now() - startedAtMs);
    if (status >= 400) {
      log.debug("Answered {status} to {address}", { status, address: address.shown });
    }
    const headers = cors.headers(origin);
    if (body === null) return new Response(null, { status: 204, headers });
    if (retryAfterS !== undefined) headers.push(["retry-after", String(retryAfterS)]);
    if (headers.length === 0) return new Response(body, { status, headers: JSON_ALONE });
    headers.push(["content-type", "application/json"]);
    return new Response(body, { status, headers });
  }

  /** Counts a body that is large, or of unknown length, until it is answered. @returns Its bytes. */
  #reserve(declared: number): number {
    const { maxBodyBytes, budget, metrics } = this.#options;
    if (declared > maxBodyBytes && declared !== Infinity) throw bodyTooLarge(maxBodyBytes);
    const bytes = Math.min(declared, maxBodyBytes);
    if (!budget.fits(bytes, false)) {
      metrics.countRefusal("buffered_bytes");
      throw limitExceeded(429, "The proxy holds too many large messages: try again");
    }
    budget.add(bytes);
    return bytes;
  }

  /** Counts a large answer until its caller has read it; refuses one to a read if it does not fit. */
  #hold(answer: RoutedAnswer, served: Served | undefined): RoutedAnswer {
    const { budget, metrics } = this.#options;
    const bytes = answer.body?.length ?? 0;
    // The answer to a write must not be lost: the caller could not know that the write took effect.
    if (answer.target === "read" && !budget.fits(bytes, false)) {
      metrics.countRefusal("buffered_bytes");
      return refusal(limitExceeded(429, "The proxy holds too many large answers: try again"));
    }
    if (served === undefined) return answer;
    budget.add(bytes);
    const release = () => budget.remove(bytes);
    served.completed.then(release, release);
    return answer;
  }
}

function isLarge({ body }: RoutedAnswer): boolean {
  return body !== null && body.length > SMALL_BYTES;
}

function refusal(thrown: unknown): RoutedAnswer {
  const error = thrown instanceof ProxyError ? thrown : badRequest(
    // The caller disconnected in the middle of its body; the answer is only counted.
    new RpcError(RpcCode.parseError, "Body ended early", { cause: thrown }),
  );
  if (error.cause !== undefined) {
    log.debug("Refused a request: {reason}", { reason: messageOf(error.cause) });
  }
  return { status: error.status, body: failureText("null", error), target: "proxy" };
}

function rateLimited(retryAfterS: number): ProxyError {
  return limitExceeded(429, `Too many requests: retry after ${retryAfterS} s`);
}

function bodyTooLarge(maxBytes: number): ProxyError {
  return limitExceeded(413, `Body is over ${maxBytes} bytes: send less at once`);
}

const decoder = new TextDecoder();

/**
 * The body of a request as text, or undefined if it is over `maxBytes`; then the rest is not read.
 *
 * @throws {ProxyError} 408 / -32005 if it takes longer than `timeoutMs`.
 */
export async function textWithin(
  request: Request,
  maxBytes: number,
  timeoutMs = BODY_TIMEOUT_MS,
): Promise<string | undefined> {
  if (request.body === null) return "";
  const reader = request.body.getReader();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    reader.cancel().catch(() => {}); // the connection is gone already
  }, timeoutMs);
  try {
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let bytes = 0;
    for (;;) {
      const { value, done } = await reader.read();
      if (isLate) {
        throw limitExceeded(408, `Body took longer than ${timeoutMs} ms: send less at once`);
      }
      if (done) break;
      bytes += value.length;
      if (bytes > maxBytes) {
        await reader.cancel();
        return undefined;
      }
      chunks.push(value);
    }
    return decoder.decode(await new Blob(chunks).bytes());
  } finally {
    clearTimeout(timer);
  }
}

/** The length that the headers declare, which the server enforces; Infinity if they declare none. */
function declaredBytes(request: Request): number {
  const length = request.headers.get("content-length");
  return length === null ? Infinity : Number(length);
}
