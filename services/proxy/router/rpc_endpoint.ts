import { getLogger } from "@logtape/logtape";
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import type { CallerAddress } from "../caller_address.ts";
import type { Cors } from "./cors.ts";
import { badRequest, limitExceeded, originRefused, type ProxyError } from "./failures.ts";
import type { ProxyMetrics } from "../metrics.ts";
import { failureText, type RoutedAnswer, type Router } from "./router.ts";

const log = getLogger([LOG_ROOT, "proxy"]);

const decoder = new TextDecoder();

/** With these very headers the runtime makes a response in a tenth of the time. */
const JSON_ALONE = { "content-type": "application/json" };

/** What an {@link RpcEndpoint} works with. */
export interface RpcEndpointOptions {
  router: Router;
  cors: Cors;
  metrics: ProxyMetrics;
  maxBodyBytes: number;
  addressOf: (headers: Headers, remote: string) => CallerAddress;
}

/**
 * `POST /`: a message in, its answer out. It stands beside the router of the other routes because
 * it is the hot path: middleware that rewrites headers or reads the body as a stream would cost more
 * than all the rest of a request.
 */
export class RpcEndpoint {
  readonly #options: RpcEndpointOptions;

  constructor(options: RpcEndpointOptions) {
    this.#options = options;
  }

  /** Answers `POST /`; undefined for every other request. */
  handle(request: Request, remote: string): Promise<Response> | undefined {
    if (request.method !== "POST" || pathOf(request.url) !== "/") return undefined;
    return this.#handle(request, remote);
  }

  async #answer(request: Request, remote: string, origin: string | null): Promise<RoutedAnswer> {
    const { router, cors, maxBodyBytes, addressOf } = this.#options;
    // A browser asks first, but not for every POST: what a page may not read it could still cause.
    if (!cors.allows(origin)) return refusal(originRefused());
    let text: string | undefined;
    try {
      text = await textWithin(request, maxBodyBytes);
    } catch (thrown) {
      // The caller went away in the middle; nobody reads the answer, but it is counted.
      return refusal(
        badRequest(new RpcError(RpcCode.parseError, "Body ended early", { cause: thrown })),
      );
    }
    if (text === undefined) {
      return refusal(limitExceeded(413, `Body is over ${maxBodyBytes} bytes`));
    }
    const forwardedFor = () => addressOf(request.headers, remote).forwardedFor;
    return await router.answer(text, { forwardedFor });
  }

  async #handle(request: Request, remote: string): Promise<Response> {
    const { metrics, cors, addressOf } = this.#options;
    const startedAtMs = performance.now();
    const origin = request.headers.get("origin");
    const answer = await this.#answer(request, remote, origin);
    const { status, body, target } = answer;
    metrics.countHttp("POST", target, status, performance.now() - startedAtMs);
    if (status >= 400) {
      const { shown } = addressOf(request.headers, remote);
      log.debug("Request of {address} was answered {status}", { address: shown, status });
    }
    const headers = cors.headers(origin);
    if (body === null) return new Response(null, { status: 204, headers });
    if (headers.length === 0) return new Response(body, { status, headers: JSON_ALONE });
    headers.push(["content-type", "application/json"]);
    return new Response(body, { status, headers });
  }
}

function refusal(error: ProxyError): RoutedAnswer {
  return { status: error.status, body: failureText(null, error), target: "proxy" };
}

/** The path of an absolute URL. */
function pathOf(url: string): string {
  const start = url.indexOf("/", "https://".length);
  const query = url.indexOf("?", start);
  return query === -1 ? url.slice(start) : url.slice(start, query);
}

/** The body of a message as text, or undefined where it is over `maxBytes`. */
export function textWithin(
  message: Request | Response,
  maxBytes: number,
): Promise<string | undefined> {
  if (declaredBytes(message) <= maxBytes) return message.text();
  return bytesWithin(message, maxBytes).then((bytes) => bytes && decoder.decode(bytes));
}

/** The body of a message, or undefined where it is over `maxBytes`; the rest is not read then. */
export async function bytesWithin(
  message: Request | Response,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (declaredBytes(message) <= maxBytes) return await message.bytes();
  // A body sent in chunks tells its size by its end only.
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of message.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return await new Blob(chunks).bytes();
}

/** The length that the headers declare, which the transport holds a sender to; Infinity where none. */
function declaredBytes(message: Request | Response): number {
  const length = message.headers.get("content-length");
  return length === null ? Infinity : Number(length);
}
