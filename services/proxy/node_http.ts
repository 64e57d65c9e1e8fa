import type { Clock } from "../../lib/clock.ts";
import { reasonOf } from "../../lib/errors.ts";
import { redactUrls } from "../../lib/redact.ts";
import { limitExceeded, nodeTimeout, nodeUnreachable } from "./failures.ts";
import { FetchTransport } from "./fetch_transport.ts";
import { BusyError, KeptConnections } from "./kept_connections.ts";
import type { Target } from "./methods.ts";
import type { ProxyMetrics } from "./metrics.ts";
import type { NodeReply } from "./node_reply.ts";
import { type HttpTransport, ReplyTimeoutError } from "./transport.ts";

/** A node as the router sees it. */
export interface NodePort {
  /**
   * Posts a message once; it is never repeated.
   *
   * @throws {ProxyError} -32002 where no answer came (502) or not in time (504).
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
  readonly #transport: HttpTransport;

  constructor(options: NodeHttpOptions) {
    this.#options = options;
    const { url, timeoutMs, clock } = options;
    const transportOptions = { url: new URL(url), timeoutMs, clock };
    this.#transport = transportOptions.url.protocol === "http:"
      ? new KeptConnections(transportOptions)
      : new FetchTransport(transportOptions);
  }

  /** Ends what is under way, and the connections that are kept. */
  stop(): void {
    this.#transport.stop();
  }

  async post(text: string, forwardedFor: string): Promise<NodeReply> {
    const { target, timeoutMs, metrics } = this.#options;
    const startedAtMs = performance.now();
    try {
      return await this.#transport.post(text, forwardedFor);
    } catch (thrown) {
      metrics.upstreamErrors.inc({ target });
      if (thrown instanceof ReplyTimeoutError) throw nodeTimeout(target, timeoutMs);
      if (thrown instanceof BusyError) {
        throw limitExceeded(429, `The ${target} node: ${thrown.message}`);
      }
      throw nodeUnreachable(target, redactUrls(reasonOf(thrown)), thrown);
    } finally {
      metrics.observeUpstream(target, performance.now() - startedAtMs);
    }
  }
}
