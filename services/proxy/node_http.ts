import { messageOf } from "../../lib/errors.ts";
import { nodeTimeout, nodeUnreachable } from "./failures.ts";
import type { Target } from "./methods.ts";
import type { ProxyMetrics } from "./metrics.ts";

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
    const { target, url, timeoutMs } = this.#options;
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", "x-forwarded-for": forwardedFor },
        body: text,
        signal: AbortSignal.timeout(timeoutMs),
      });
      return { status: response.status, body: await response.bytes() };
    } catch (cause) {
      if (cause instanceof DOMException && cause.name === "TimeoutError") {
        throw nodeTimeout(target, timeoutMs);
      }
      throw nodeUnreachable(target, messageOf(cause), cause);
    }
  }
}
