import type { CallerAddress } from "../../../lib/http/caller_address.ts";
import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import type { ByteBudget } from "../shared/limits.ts";
import type { ProxyMetrics, Target } from "../shared/metrics.ts";
import type { Turns } from "../../../lib/timing/turns.ts";
import { splitBatchReply } from "./batch.ts";
import { type Batch, type Call, parseMessage } from "./message.ts";
import {
  type CallAnswer,
  callText,
  type NodeReply,
  randomFirstId,
  requireAnswer,
  withCallerId,
} from "../shared/envelopes.ts";
import { failureText, ProxyError } from "../shared/failures.ts";
import type { InFlightReads } from "./in_flight_reads.ts";
import { type MethodKinds, tryParseSubscriptionMethod } from "./method_kinds.ts";
import type { NodePort } from "../node/http_pool.ts";
import { answerForClient, failureForClient, type ReadRoute, requireRoute } from "./read_route.ts";
import type { ReadNode } from "../node/read_node.ts";
import type { ReadNodes } from "../node/read_nodes.ts";
import type { Read } from "../node/read_pool.ts";

/**
 * Makes and ends the subscriptions of a WebSocket, and sends the answers itself; undefined for any
 * other call.
 *
 * @throws {ProxyError} If the call is refused.
 */
type Subscribe = (call: Call) => Promise<void> | undefined;

/** The answer to a message; over WebSocket the body alone. */
export interface RoutedAnswer {
  status: number;
  /** Null if no call of the message had an id, so that none gets an answer. */
  body: string | null;
  /** The source of the answer: a label of the metrics. */
  target: Target | "mixed" | "proxy";
}

export interface RouterOptions {
  methods: MethodKinds;
  nodes: Readonly<Record<Target, NodePort>>;
  readNodes: ReadNodes;
  /** Sends plain reads. @throws {ProxyError} As {@link NodePort.post}. */
  plainReads: { ask(read: Read): Promise<CallAnswer> };
  /** Equal reads in flight share an answer, unless the node has reported a change in between. */
  inFlight: InFlightReads;
  maxBatch: number;
  /** Counts replies that wait to be read. */
  budget: ByteBudget;
  metrics: ProxyMetrics;
  /** Long messages and replies are read in these. */
  turns: Turns;
}

/** A single call of this length is read at once: the shortest that takes long has more members. */
const SHORT_CALL_CHARS = 1024;

/**
 * Sends each call of a message to its node and joins the answers in the caller's order.
 *
 * A read comes from `clients/rpc_endpoint.ts` (HTTP) or `clients/ws_client.ts` (WebSocket). It
 * is parsed (`message.ts`), classified (`method_kinds.ts`) and given a node (`read_route.ts`), then
 * goes over `read_socket/read_socket.ts`, or over HTTP by `node/read_pool.ts` and
 * `node/http_pool.ts`.
 */
export class Router {
  readonly #options: RouterOptions;
  #lastId = randomFirstId();

  constructor(options: RouterOptions) {
    this.#options = options;
  }

  /**
   * Answers one message; never rejects for an error of a caller or a node.
   *
   * @param caller Reads of different callers take turns.
   * @param subscribe Undefined over HTTP.
   */
  answer(text: string, caller: CallerAddress, subscribe?: Subscribe): Promise<RoutedAnswer> {
    const read = () => this.#answerNow(text, caller, subscribe);
    const isShort = text.length <= SHORT_CALL_CHARS && text.startsWith("{");
    return isShort ? read() : this.#options.turns.run([caller.peerKey, caller.key], read);
  }

  #answerNow(text: string, caller: CallerAddress, subscribe?: Subscribe): Promise<RoutedAnswer> {
    const message = parseMessage(text, this.#options.maxBatch);
    if (Array.isArray(message)) return this.#answerBatch(...this.#sortBatch(message), caller);
    if (!("error" in message)) return this.#answerCall(message, caller, subscribe);
    const { id, error } = message;
    const status = error instanceof ProxyError ? error.status : 400;
    return Promise.resolve({ status, body: failureText(id, error), target: "proxy" });
  }

  async #answerCall(
    call: Call,
    caller: CallerAddress,
    subscribe?: Subscribe,
  ): Promise<RoutedAnswer> {
    const { metrics, methods } = this.#options;
    metrics.countCall(call.method);
    const { target, isPlainRead, hasLargeAnswer } = methods.kindOf(call.method);
    try {
      const answered = subscribe?.(call);
      if (answered !== undefined) {
        await answered;
        return { status: 204, body: null, target };
      }
      if (!isPlainRead || call.id === undefined) {
        const { status, body } = await this.#send(call, target, caller);
        return answerOf(call, status, body, target);
      }
      const route = requireRoute(call, this.#options.readNodes);
      const read = { ...route, caller, hasLargeAnswer: hasLargeAnswer || isFullBlock(call) };
      const ask = () => this.#options.plainReads.ask(read);
      const answer = await this.#options.inFlight.share(read.textAfterId, ask);
      return { status: answer.status, body: withCallerId(answer, call.id), target };
    } catch (thrown) {
      if (!(thrown instanceof ProxyError)) throw thrown;
      const error = failureForClient(call, this.#options.readNodes, thrown);
      return answerOf(call, error.status, failureText(call.id, error), target);
    }
  }

  /** Sends a call that must not be sent twice. */
  async #send(call: Call, target: Target, { forwardedFor }: CallerAddress): Promise<NodeReply> {
    const { nodes, readNodes, inFlight } = this.#options;
    const { node, textAfterId } = this.#requireRoute(call, target);
    const id = this.#lastId += 1;
    try {
      const text = callText(textAfterId, call.id === undefined ? undefined : id);
      const reply = await nodes[target].post(text, { forwardedFor, node });
      if (call.id === undefined) return reply;
      const body = withCallerId(requireAnswer(id, reply, target), call.id);
      return { status: reply.status, body: answerForClient(call, readNodes, node, body) };
    } finally {
      // After a change, even if its answer was lost, a read must not share an older read's answer.
      inFlight.clear();
    }
  }

  async #answerBatch(
    answers: BatchAnswers,
    parts: readonly NodeBatch[],
    caller: CallerAddress,
  ): Promise<RoutedAnswer> {
    await Promise.all(parts.map((part) => this.#sendBatch(part, caller, answers)));
    const target = targetOf(parts);
    const texts = answers.filter((text) => text !== undefined);
    if (texts.length === 0) return { status: 204, body: null, target };
    return { status: 200, body: `[${texts.join(",")}]`, target };
  }

  /** Answers what needs no node, and sorts all other calls by their node. */
  #sortBatch(batch: Batch): [answers: BatchAnswers, parts: readonly NodeBatch[]] {
    const answers: BatchAnswers = new Array(batch.length);
    const parts: BatchParts = new Map();
    for (const [index, call] of batch.entries()) {
      if ("error" in call) {
        answers[index] = failureText(call.id, call.error);
        continue;
      }
      this.#options.metrics.countCall(call.method);
      answers[index] = this.#addToBatch(parts, index, call);
    }
    return [answers, [...parts.values()]];
  }

  /** Adds a call to those for its node. Returns the error for its caller if no node can answer it. */
  #addToBatch(parts: BatchParts, index: number, call: Call): string | undefined {
    const { target } = this.#options.methods.kindOf(call.method);
    try {
      if (tryParseSubscriptionMethod(call.method) !== undefined) throw subscriptionInBatch();
      const { node, blocks = [], textAfterId } = this.#requireRoute(call, target);
      const part = parts.get(node) ?? { target, node, blocks: [], calls: [] };
      part.calls.push({ index, id: call.id, method: call.method, textAfterId });
      part.blocks.push(...blocks);
      parts.set(node, part);
    } catch (thrown) {
      if (!(thrown instanceof ProxyError)) throw thrown;
      return call.id === undefined ? undefined : failureText(call.id, thrown);
    }
  }

  /** The read node of a call, if it is a read, and the text for it. @throws As {@link requireRoute}. */
  #requireRoute(call: Call, target: Target): Partial<ReadRoute> & { textAfterId: string } {
    return target === "read" ? requireRoute(call, this.#options.readNodes) : call;
  }

  /** Sends a node its calls of a batch, and adds the answers of those with an id. */
  async #sendBatch(
    { target, node, blocks, calls }: NodeBatch,
    caller: CallerAddress,
    answers: BatchAnswers,
  ): Promise<void> {
    const { methods, nodes, readNodes, budget, turns } = this.#options;
    const isPlain = calls.every(({ method }) => methods.kindOf(method).isPlainRead);
    const firstId = this.#lastId + 1;
    this.#lastId += calls.length;
    const texts = calls.map(({ id, textAfterId }, position) =>
      callText(textAfterId, id === undefined ? undefined : firstId + position)
    );
    try {
      const options = { forwardedFor: caller.forwardedFor, isPlain, node, blocks };
      const reply = await nodes[target].post(`[${texts.join(",")}]`, options);
      const bytes = reply.body.length;
      budget.add(bytes);
      const replies = await turns.run([caller.peerKey, caller.key], () => {
        budget.remove(bytes);
        return splitBatchReply(calls, firstId, reply, target);
      });
      for (const [position, call] of calls.entries()) {
        const reply = replies[position];
        answers[call.index] = reply && answerForClient(call, readNodes, node, reply);
      }
    } catch (thrown) {
      if (!(thrown instanceof ProxyError)) throw thrown;
      for (const call of calls) {
        if (call.id === undefined) continue;
        answers[call.index] = failureText(call.id, failureForClient(call, readNodes, thrown));
      }
    } finally {
      if (!isPlain) this.#options.inFlight.clear();
    }
  }
}

/** Answers by position in the batch; undefined for calls without one. */
type BatchAnswers = (string | undefined)[];

/** The calls of a batch by their read node; writes have none. */
type BatchParts = Map<ReadNode | undefined, NodeBatch>;

/** The calls of a batch that go to one node, without their parsed parameters: large ones wait. */
interface NodeBatch {
  target: Target;
  node?: ReadNode | undefined;
  /** The blocks that they name. */
  blocks: number[];
  calls: ({ index: number } & Pick<Call, "id" | "method" | "textAfterId">)[];
}

function targetOf(parts: readonly NodeBatch[]): RoutedAnswer["target"] {
  const targets = new Set(parts.map(({ target }) => target));
  return targets.size > 1 ? "mixed" : [...targets][0] ?? "proxy";
}

function answerOf(call: Call, status: number, body: string, target: Target): RoutedAnswer {
  return call.id === undefined ? { status: 204, body: null, target } : { status, body, target };
}

/** The answer with the id of a subscription has to precede its notifications. */
function subscriptionInBatch(): ProxyError {
  const message = "Invalid request: A batch cannot subscribe: send this call alone, on a WebSocket";
  return new ProxyError(400, RpcCode.invalidRequest, message);
}

function isFullBlock({ method, params }: Call): boolean {
  return method.startsWith("eth_getBlockBy") && Array.isArray(params) && params[1] === true;
}
