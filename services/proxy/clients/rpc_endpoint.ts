import type { Clock } from "../../../lib/clock.ts";
import { pathOf, type ServedRequest } from "../../../lib/http/listener.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { idBesideParams, RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { type CallerAddress, callerAddress } from "../../../lib/http/caller_address.ts";
import type { Cors } from "../../../lib/http/cors.ts";
import type { RequestLimiter } from "../../../lib/http/limiter.ts";
import { type AddressCounts, type CallerBytes, SMALL_BYTES } from "../shared/limits.ts";
import type { ProxyMetrics } from "../shared/metrics.ts";
import {
  failureText,
  limitExceeded,
  originRefused,
  ProxyError,
  TOO_MANY_REQUESTS,
} from "../shared/failures.ts";
import { RequestBodies } from "./request_bodies.ts";
import type { RoutedAnswer, Router } from "../calls/router.ts";

const log = serviceLog("proxy");

/** `Deno.serve` sends a response with exactly these headers ten times as fast as others. */
const JSON_HEADERS = { "content-type": "application/json" };

export interface RpcEndpointOptions {
  router: Router;
  cors: Cors;
  metrics: ProxyMetrics;
  maxBodyBytes: number;
  /** Whether the peers' `X-Forwarded-For` is true, see {@link callerAddress}. */
  trustProxy: boolean;
  openRequests: AddressCounts;
  /** Bytes of large bodies and answers in memory. */
  callerBytes: CallerBytes;
  /** Not set: no limit. */
  limiter?: Pick<RequestLimiter, "count"> | undefined;
  /** Measures durations: it must not jump. */
  clock: Clock;
}

/**
 * `POST /`: a message in, its answer out. It is separate from the other routes because it is the
 * hot path: middleware that rewrites headers or streams the body would cost more than all the rest.
 */
export class RpcEndpoint {
  readonly #options: RpcEndpointOptions;
  readonly #bodies: RequestBodies;

  constructor(options: RpcEndpointOptions) {
    this.#options = options;
    const { maxBodyBytes: maxBytes, callerBytes, metrics, clock } = options;
    this.#bodies = new RequestBodies({ maxBytes, callerBytes, metrics, clock });
  }

  /** Stops the timer of {@link RequestBodies}. */
  stop(): void {
    this.#bodies.stop();
  }

  /** Answers `POST /`; undefined for every other request. */
  handle(request: Request, remote: string, served: ServedRequest): Promise<Response> | undefined {
    if (request.method !== "POST" || pathOf(request.url) !== "/") return undefined;
    return this.#handle(request, remote, served);
  }

  async #handle(request: Request, remote: string, served: ServedRequest): Promise<Response> {
    const { router, metrics, cors, openRequests, callerBytes, limiter, clock } = this.#options;
    const startedAtMs = clock.now();
    const origin = request.headers.get("origin");
    const address = callerAddress(request.headers, remote, this.#options.trustProxy);
    let text = "";
    let answer: RoutedAnswer;
    let retryAfterS: number | undefined;
    let isOpen = false;
    let countedBytes = 0;
    try {
      const waitS = limiter && await limiter.count(address);
      // Browsers send some POSTs without a preflight, so hiding the answer would not be enough.
      if (!cors.allows(origin)) throw originRefused(origin);
      if (waitS !== undefined) {
        retryAfterS = waitS;
        metrics.countRefusal("request_rate");
        throw limitExceeded(429, `Too many requests: retry after ${waitS} s`);
      }
      ({ text, countedBytes } = await this.#bodies.read(request, address, startedAtMs));
      isOpen = openRequests.tryAdd(address);
      if (!isOpen) {
        metrics.countRefusal("requests_per_address");
        throw limitExceeded(429, TOO_MANY_REQUESTS);
      }
      answer = await router.answer(text, address);
    } catch (thrown) {
      answer = refusal(thrown, text);
    } finally {
      if (isOpen) openRequests.remove(address);
      callerBytes.remove(address, countedBytes);
    }
    if ((answer.body?.length ?? 0) > SMALL_BYTES) {
      answer = this.#countUntilRead(answer, text, address, served);
    }
    const { status, target } = answer;
    metrics.countHttp("POST", target, status, clock.now() - startedAtMs);
    if (status >= 400) {
      log.debug("Answered {status} to {address}", { status, address: address.display });
    }
    return this.#respond(answer, origin, retryAfterS);
  }

  #respond({ status, body }: RoutedAnswer, origin: string | null, retryAfterS?: number): Response {
    const headers = this.#options.cors.headers(origin);
    if (body === null) return new Response(null, { status: 204, headers });
    if (retryAfterS !== undefined) headers.push(["retry-after", String(retryAfterS)]);
    if (body.length > SMALL_BYTES) {
      const bytes = encoder.encode(body);
      headers.push(["content-type", "application/json"], ["content-length", `${bytes.length}`]);
      return new Response(inPieces(bytes), { status, headers });
    }
    if (headers.length === 0) return new Response(body, { status, headers: JSON_HEADERS });
    headers.push(["content-type", "application/json"]);
    return new Response(body, { status, headers });
  }

  /**
   * Counts a large answer until its caller has read it. Refuses that of a read if it does not fit.
   */
  #countUntilRead(
    answer: RoutedAnswer,
    text: string,
    address: CallerAddress,
    served: ServedRequest,
  ): RoutedAnswer {
    const { callerBytes, metrics } = this.#options;
    const bytes = answer.body?.length ?? 0;
    // The answer to a write must not be lost: the caller could not know that the write took effect.
    if (answer.target === "read" && !callerBytes.fitsAnswer(address, bytes)) {
      metrics.countRefusal("buffered_bytes");
      return refusal(limitExceeded(429, "The proxy holds too many large answers: try again"), text);
    }
    callerBytes.add(address, bytes);
    const release = () => callerBytes.remove(address, bytes);
    served.completed.then(release, release);
    return answer;
  }
}

const encoder = new TextEncoder();

/**
 * A body that the runtime takes in pieces, as its caller reads. It counts one that it gets as a whole
 * as sent at once, although all of it may still wait in memory.
 */
function inPieces(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(bytes.subarray(sent, sent += SMALL_BYTES));
      if (sent >= bytes.length) controller.close();
    },
  }, { highWaterMark: 0 });
}

/** @param text The request, for its id; empty if it was not read. */
function refusal(thrown: unknown, text: string): RoutedAnswer {
  const isRefusal = thrown instanceof ProxyError;
  if (!isRefusal) log.error("A request failed: {error}", { error: thrown });
  const message = "Internal error: see the log of the proxy; a write may have taken effect";
  const error = isRefusal ? thrown : new ProxyError(500, RpcCode.internalError, message);
  const id = JSON.stringify(idBesideParams(text));
  return { status: error.status, body: failureText(id, error), target: "proxy" };
}
