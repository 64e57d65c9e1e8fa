import type { Clock } from "../../../lib/clock.ts";
import { parseJson, parseResponse } from "../../../lib/protocol/jsonrpc.ts";
import { type Head, headSchema } from "./head.ts";
import { type Answer, callText, firstId, type NodeReply, restOf } from "../call_envelope.ts";
import type { Read } from "./open_reads.ts";
import type { ReadNodes } from "./read_nodes.ts";
import {
  askOverHttp,
  nodeHttp,
  type NodeHttpOptions,
  type NodePort,
  type PostOptions,
} from "./node_http.ts";
import { ConnectionError } from "./http_connection.ts";
import { BusyError, HttpPool, type PostError, ReplyTimeoutError } from "./http_pool.ts";
import { ReplyBudgetError } from "./reply_body.ts";

/** Timeout of a probe. */
export const PROBE_TIMEOUT_MS = 2_000;

/** Asks a node for its newest block. */
const PROBE = callText(restOf("eth_getBlockByNumber", '["latest",false]'), 1);

/** Errors that do not indicate a problem of the node. */
const OWN_LIMITS = [ReplyTimeoutError, BusyError, ReplyBudgetError];

/** URLs of the read nodes, one or more; all other options are the same for all of them. */
export interface ReadPoolOptions extends Omit<NodeHttpOptions, "target" | "url" | "onEnd"> {
  urls: readonly string[];
  nodes: ReadNodes;
}

/** Connections to the read nodes: reads go to the leader, and to another one if it fails. */
export class ReadPool implements NodePort {
  readonly #nodes: ReadNodes;
  readonly #pools: readonly HttpPool[];
  /** Probes have connections and a deadline of their own. */
  readonly #probes: readonly HttpPool[];
  readonly #clock: Clock;
  #lastId = firstId();
  #stopped = false;

  constructor({ urls, nodes, ...options }: ReadPoolOptions) {
    this.#nodes = nodes;
    this.#clock = options.clock;
    this.#pools = urls.map((url, node) =>
      nodeHttp({
        ...options,
        target: "read",
        url,
        onEnd: (_tookMs, status, error) => this.#report(node, status, error),
        failover: () => this.#alternativeTo(node),
      })
    );
    this.#probes = urls.map((url) =>
      new HttpPool({ url: new URL(url), timeoutMs: PROBE_TIMEOUT_MS, clock: options.clock })
    );
  }

  /** Posts to the leader, or to a given node. */
  post(text: string, options: PostOptions): Promise<NodeReply> {
    return this.#at(this.#pools, options.node ?? this.#nodes.leader).post(text, options);
  }

  /** Sends a plain read: see {@link askOverHttp}. */
  ask(read: Read): Promise<Answer> {
    return askOverHttp(this, read, this.#lastId += 1);
  }

  /**
   * Asks a node for its newest block and reports the answer or the failure; never rejects.
   * @returns Undefined if it did not answer.
   */
  async probe(node: number): Promise<Head | undefined> {
    const startedAtMs = this.#clock.now();
    try {
      const options = { forwardedFor: "127.0.0.1", isPlain: true };
      const { body } = await this.#at(this.#probes, node).post(PROBE, options);
      const head = headSchema.parse(parseResponse(parseJson(body)).result);
      this.#nodes.onProbeAnswered(node, head, this.#clock.now() - startedAtMs);
      return head;
    } catch (thrown) {
      if (this.#stopped) return;
      if (isRefused(thrown)) this.#nodes.onProbeRefused(node, reasonOf(thrown));
      else this.#nodes.onProbeFailed(node, reasonOf(thrown));
      if (this.#nodes.isDead(node)) this.#at(this.#pools, node).abandon("It does not respond");
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const pool of [...this.#pools, ...this.#probes]) pool.stop();
  }

  #report(node: number, status: number | undefined, error?: PostError): void {
    if (this.#stopped) return;
    const isBusy = status === 429 || Number(status) >= 500;
    if (error === undefined && !isBusy) return this.#nodes.onReadAnswered(node);
    // A caller can make a read slow or large; the probes detect a node that hangs.
    const isOwnLimit = OWN_LIMITS.some((limit) =>
      error instanceof limit || error?.cause instanceof limit
    );
    if (!isOwnLimit) this.#nodes.onReadFailed(node);
    if (isRefused(error)) this.#nodes.onDied(node, reasonOf(error));
  }

  #alternativeTo(failed: number): HttpPool | undefined {
    const other = this.#stopped ? undefined : this.#nodes.alternativeTo(failed);
    return other === undefined ? undefined : this.#pools[other];
  }

  #at(pools: readonly HttpPool[], node: number): HttpPool {
    const pool = pools[node];
    if (pool === undefined) throw new RangeError(`There is no read node ${node}`);
    return pool;
  }
}

/** Whether the connection was refused. */
function isRefused(thrown: unknown): boolean {
  return thrown instanceof ConnectionError && thrown.stage === "connecting" &&
    !(thrown.cause instanceof ReplyTimeoutError);
}

/** A short reason for logs and `/health`, without addresses. */
function reasonOf(thrown: unknown): string {
  return thrown instanceof ConnectionError ? thrown.message : "it answers with something else";
}
