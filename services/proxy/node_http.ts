import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import { bytesWithin } from "./bounded_body.ts";
import { nodeTimeout, nodeUnreachable, ProxyError } from "./failures.ts";
import type { Target } from "./methods.ts";
import type { ProxyMetrics } from "./metrics.ts";

/** The largest answer that is held in memory on its way: what WebSockets take, too. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** What a node answered, byte for byte; as text where it came in a text frame. */
export interface NodeReply {
  status: number;
  body: Uint8Array<ArrayBuffer> | string;
}

const decoder = new TextDecoder();

/** The body of an answer as text. */
export function bodyText(body: NodeReply["body"]): string {
  return typeof body === "string" ? body : decoder.decode(body);
}

/** A node as the router sees it. */
export interface NodePort {
  /**
   * Posts a message once; it is never repeated.
   *
   * @throws {ProxyError} -32002 where no JSON came back (502) or not in time (504).
   */
  post(text: string, forwardedFor: string): Promise<NodeReply>;
}

/** Where a node is and how patient to be with it. */
export interface NodeHttpOptions {
  target: Target;
  url: string;
  timeoutMs: number;
  clock: Clock;
  metrics: ProxyMetrics;
}

/** One node over HTTP. */
export class NodeHttp implements NodePort {
  readonly #options: NodeHttpOptions;

  constructor(options: NodeHttpOptions) {
    this.#options = options;
  }

  async post(text: string, forwardedFor: string): Promise<NodeReply> {
    const { target, metrics } = this.#options;
    const startedAtMs = performance.now();
    try {
      return await this.#post(text, forwardedFor);
    } catch (thrown) {
      metrics.upstreamErrors.inc({ target });
      throw thrown;
    } finally {
      metrics.observeUpstream(target, performance.now() - startedAtMs);
    }
  }

  async #post(text: string, forwardedFor: string): Promise<NodeReply> {
    const { target, url, timeoutMs, clock } = this.#options;
    // AbortSignal.timeout would keep a timer alive for the whole timeout after every quick answer.
    const late = new AbortController();
    const cancel = clock.after(timeoutMs, () => late.abort());
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", "x-forwarded-for": forwardedFor },
        body: text,
        // To follow one would send a write a second time.
        redirect: "manual",
        signal: late.signal,
      });
      const body = await bytesWithin(response, ANSWER_BYTES_MAX);
      if (body === undefined) {
        throw nodeUnreachable(target, `its answer is over ${ANSWER_BYTES_MAX} bytes`);
      }
      return { status: response.status, body };
    } catch (cause) {
      if (cause instanceof ProxyError) throw cause;
      if (late.signal.aborted) throw nodeTimeout(target, timeoutMs);
      throw nodeUnreachable(target, messageOf(cause), cause);
    } finally {
      cancel();
    }
  }
}
