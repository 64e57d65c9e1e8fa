import { getLogger } from "@logtape/logtape";
import { LOG_ROOT } from "../../lib/service/logging.ts";
import { textWithin } from "./bounded_body.ts";
import type { CallerAddress } from "./caller_address.ts";
import type { Cors } from "./cors.ts";
import { limitExceeded } from "./failures.ts";
import type { ProxyMetrics } from "./metrics.ts";
import { type Answer, failureText, type Router } from "./router.ts";

const log = getLogger([LOG_ROOT, "proxy"]);

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

  async #handle(request: Request, remote: string): Promise<Response> {
    const { router, metrics, cors, maxBodyBytes, addressOf } = this.#options;
    const startedAtMs = performance.now();
    const text = await textWithin(request, maxBodyBytes);
    const answer = text === undefined ? tooLarge(maxBodyBytes) : await router.answer(text, {
      forwardedFor: () => addressOf(request.headers, remote).forwardedFor,
    });
    const { status, body, target } = answer;
    metrics.countHttp("POST", target, status, performance.now() - startedAtMs);
    if (status >= 400) {
      const { shown } = addressOf(request.headers, remote);
      log.debug("Request of {address} was answered {status}", { address: shown, status });
    }
    const headers = cors.headers(request);
    if (body === null) return new Response(null, { status: 204, headers });
    if (headers.length === 0) return new Response(body, { status, headers: JSON_ALONE });
    headers.push(["content-type", "application/json"]);
    return new Response(body, { status, headers });
  }
}

function tooLarge(maxBytes: number): Answer {
  const error = limitExceeded(413, `Body is over ${maxBytes} bytes`);
  return { status: error.status, body: failureText(null, error), target: "proxy" };
}

/** The path of an absolute URL. */
function pathOf(url: string): string {
  const start = url.indexOf("/", "https://".length);
  const query = url.indexOf("?", start);
  return query === -1 ? url.slice(start) : url.slice(start, query);
}
