import type { Clock } from "../../../lib/clock.ts";
import type { CallerAddress } from "../../../lib/http/caller_address.ts";
import { parseJson, tryParseResponse } from "../../../lib/protocol/jsonrpc.ts";
import { type Head, headOf, type ReadNode } from "./read_node.ts";
import {
  type CallAnswer,
  callText,
  type NodeReply,
  randomFirstId,
  requireAnswer,
  textAfterIdOf,
  tryParseAnswer,
} from "../shared/envelopes.ts";
import { ProxyError } from "../shared/failures.ts";
import type { ReadNodes } from "./read_nodes.ts";
import { ConnectionError } from "./http_connection.ts";
import { HttpPool, type HttpPoolOptions, type NodePort, type PostOptions } from "./http_pool.ts";

export const PROBE_TIMEOUT_MS = 2_000;

/** Asks a node for its newest block. */
const PROBE = callText(textAfterIdOf("eth_getBlockByNumber", '["latest",false]'), 1);

/** A plain read: it changes nothing, so it may be sent twice. */
export interface Read {
  /** The text of the call after its id. */
  textAfterId: string;
  node: ReadNode;
  /** The blocks that it names. */
  blocks?: readonly number[] | undefined;
  /** Callers take turns. */
  caller: CallerAddress;
  /** Whether its answer may be large, which would delay those of others on a shared socket. */
  hasLargeAnswer: boolean;
}

interface ReadPoolOptions extends Omit<HttpPoolOptions, "target" | "url"> {
  nodes: ReadNodes;
}

/** Connections to the read nodes: reads go to the leader, and to another one if it fails. */
export class ReadPool implements NodePort {
  readonly #nodes: ReadNodes;
  /** The connections of each node. */
  readonly #pools: ReadonlyMap<ReadNode, { reads: HttpPool; probes: HttpPool }>;
  readonly #clock: Clock;
  #lastId = randomFirstId();
  #isStopped = false;

  constructor({ nodes, ...options }: ReadPoolOptions) {
    this.#nodes = nodes;
    this.#clock = options.clock;
    this.#pools = new Map(nodes.all.map((node) => {
      const common = { ...options, target: "read" as const, url: new URL(node.endpoint.url) };
      return [node, {
        reads: new HttpPool({
          ...common,
          onEnd: (status, error) => this.#report(node, status, error),
        }),
        probes: new HttpPool({ ...common, metrics: undefined, timeoutMs: PROBE_TIMEOUT_MS }),
      }];
    }));
  }

  async post(text: string, options: PostOptions): Promise<NodeReply> {
    const node = options.node ?? this.#nodes.leader;
    const sent = this.#poolsOf(node).reads.post(text, options);
    if (!options.isPlain) return await sent;
    const mayRetry = await sent.then(
      ({ status }) => cannotServe(status),
      (failure) => connectionErrorOf(failure)?.isCallerCaused === false,
    );
    const other = mayRetry && !this.#isStopped
      ? this.#nodes.findOtherNode(node, options.blocks)
      : undefined;
    return await (other === undefined ? sent : this.#poolsOf(other).reads.post(text, options));
  }

  /** Sends a plain read: see {@link askOverHttp}. */
  ask(read: Read): Promise<CallAnswer> {
    return askOverHttp(this, read, this.#lastId += 1);
  }

  /**
   * Asks a node for its newest block and reports the answer or the failure; never rejects.
   * @returns Undefined if it did not answer.
   */
  async probe(node: ReadNode): Promise<Head | undefined> {
    const startedAtMs = this.#clock.now();
    let fault = "its answer is not a block";
    try {
      const options = { forwardedFor: "127.0.0.1", isPlain: true };
      const { status, body } = await this.#poolsOf(node).probes.post(PROBE, options);
      if (status !== 200) fault = `HTTP status ${status}`;
      const head = headOf(tryParseResponse(parseJson(body))?.result);
      if (head === undefined) throw new TypeError("It is not a block");
      this.#nodes.onProbeAnswered(node, head, this.#clock.now() - startedAtMs);
      return head;
    } catch (thrown) {
      if (this.#isStopped) return;
      const error = connectionErrorOf(thrown);
      if (error?.isNodeDown) this.#nodes.onProbeRefused(node, error.message);
      else this.#nodes.onProbeFailed(node, error?.message ?? fault);
      if (node.isDead) this.#poolsOf(node).reads.abandon("It does not respond");
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const { reads, probes } of this.#pools.values()) {
      reads.stop();
      probes.stop();
    }
  }

  #report(node: ReadNode, status: number | undefined, error?: ConnectionError): void {
    if (this.#isStopped) return;
    const isFailed = error !== undefined || cannotServe(status);
    // The probes detect a node that hangs.
    const isOurLimit = error?.abortReason === "busy" || error?.isCallerCaused;
    if (!isOurLimit) this.#nodes.countRead(node, { isFailed });
    if (error?.isNodeDown) this.#nodes.onDied(node, error.message);
  }

  #poolsOf(node: ReadNode) {
    const pools = this.#pools.get(node);
    if (pools === undefined) throw new RangeError(`There is no read node ${node.name}`);
    return pools;
  }
}

/** Whether a status means that the node cannot serve now. */
function cannotServe(status = 0): boolean {
  return status === 429 || status >= 500;
}

/** The failure of the connection to the node, if that is the cause. */
function connectionErrorOf(failure: unknown): ConnectionError | undefined {
  const cause = failure instanceof ProxyError ? failure.cause : undefined;
  return cause instanceof ConnectionError ? cause : undefined;
}

/**
 * Sends a plain read, again if it was lost on a stale connection, and to another node if this one
 * fails.
 *
 * @throws {ProxyError} As {@link NodePort.post}, and 502 if the node answered another call.
 */
export async function askOverHttp(
  nodes: NodePort,
  { textAfterId, node, blocks, caller: { forwardedFor } }: Read,
  id: number,
): Promise<CallAnswer> {
  const isAnswer = (body: string) => tryParseAnswer({ status: 200, body }, id) !== undefined;
  const options = { forwardedFor, node, blocks, isPlain: true, isAnswer };
  return requireAnswer(id, await nodes.post(callText(textAfterId, id), options), "read");
}
