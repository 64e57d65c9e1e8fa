import type { Clock } from "../../../lib/clock.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { Deadlines } from "../http_pool/deadlines.ts";
import { nodeTimeout } from "./failures.ts";
import type { UpstreamPort } from "../hub/subscription_table.ts";
import { memberSpan, type Span } from "../json_text.ts";
import type { ProxyMetrics } from "../metrics.ts";
import type { Answer } from "./envelope.ts";

/**
 * Most open reads on the socket; further ones go over HTTP. Nodes limit the open requests of a socket:
 * ours accepts 100, and subscribes need some of them.
 */
export const OPEN_READS_MAX = 64;

/** Ids of reads are strings, because the hub's are numbers. */
const ID_START = '"read ';

/** The usual beginning of an answer: its id is found without parsing the rest. */
const USUAL_START = /^\{"jsonrpc":"2\.0","id":"read (\d+)"[,}]/;

/** The socket was lost before the answer came. A plain read may be sent again. */
export class ReadLostError extends RangemakerError {
  constructor(reason: string) {
    super("READ_LOST", `The socket was lost before the answer: ${reason}`);
  }
}

/** Options of {@link UpstreamReads}. */
export interface UpstreamReadsOptions {
  /** The socket that the hub uses. */
  upstream: UpstreamPort & { readonly connected: boolean };
  clock: Clock;
  timeoutMs: number;
  metrics: ProxyMetrics;
}

/**
 * Sends plain reads over the hub's WebSocket to the read node. One write sends many, while each HTTP
 * request needs two system calls. The drawbacks: the node does not see the caller's address, and an
 * answer of megabytes delays the notifications behind it.
 */
export class UpstreamReads {
  readonly #options: UpstreamReadsOptions;
  readonly #open = new Map<number, PromiseWithResolvers<Answer>>();
  readonly #deadlines: Deadlines<number>;
  readonly #observe: (seconds: number) => void;
  #lastId = 0;

  constructor(options: UpstreamReadsOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines(options.clock, options.timeoutMs, (id) => this.#expire(id));
    this.#observe = options.metrics.upstreamLatency("read");
  }

  /** Whether a read can be sent now; otherwise use HTTP. */
  get usable(): boolean {
    return this.#options.upstream.connected && this.#open.size < OPEN_READS_MAX;
  }

  /**
   * Sends a call, given as its text behind its id.
   *
   * @throws {ReadLostError} If the socket closes first.
   * @throws {ProxyError} 504 / -32002 if the node takes too long.
   */
  async ask(rest: string): Promise<Answer> {
    const { metrics, upstream } = this.#options;
    const id = this.#lastId += 1;
    const answer = Promise.withResolvers<Answer>();
    this.#open.set(id, answer);
    this.#deadlines.add(id);
    const startedAtMs = performance.now();
    upstream.send(`{"jsonrpc":"2.0","id":${ID_START}${id}"${rest}`);
    try {
      return await answer.promise;
    } catch (thrown) {
      metrics.upstreamErrors.inc({ target: "read" });
      throw thrown;
    } finally {
      this.#observe((performance.now() - startedAtMs) / 1000);
    }
  }

  /** Handles a frame of the node. @returns False if it is not an answer to a read. */
  answered(text: string): boolean {
    const span = this.#idSpan(text);
    if (span === undefined) return false;
    const id = Number(text.slice(span.start + ID_START.length, span.end - 1));
    const read = this.#open.get(id);
    if (read === undefined) return true; // late: its caller got a timeout
    this.#open.delete(id);
    this.#deadlines.delete(id);
    read.resolve({ status: 200, text, id: span });
    return true;
  }

  /** The connection is lost, and with it the answers. */
  lost(reason: string): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    this.#deadlines.clear();
    for (const { reject } of open) reject(new ReadLostError(reason));
  }

  #idSpan(text: string): Span | undefined {
    const usual = USUAL_START.exec(text);
    if (usual?.[1] !== undefined) {
      const end = usual[0].length - 1;
      return { start: end - usual[1].length - ID_START.length - 1, end };
    }
    // Without an open read, do not scan the hub's frames.
    const span = this.#open.size === 0 ? undefined : memberSpan(text, "id");
    return span !== undefined && text.startsWith(ID_START, span.start) ? span : undefined;
  }

  #expire(id: number): void {
    const read = this.#open.get(id);
    if (read === undefined) return;
    this.#open.delete(id);
    // The socket stays open: one slow read proves little, and pings detect a dead node.
    read.reject(nodeTimeout("read", this.#options.timeoutMs));
  }
}
