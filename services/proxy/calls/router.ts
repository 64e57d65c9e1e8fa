import type { ByteBudget } from "../byte_budget.ts";
import type { ProxyMetrics, Target } from "../metrics.ts";
import { splitBatchReply, SplitTurns } from "./batch.ts";
import {
  type BrokenCall,
  type Call,
  isBroken,
  type Message,
  MessageError,
  readMessage,
} from "./message.ts";
import { type Answer, answerUnder, callText, readAnswer } from "../envelope.ts";
import { answerLost, failureText, ProxyError } from "../failures.ts";
import { InFlightReads } from "./in_flight_reads.ts";
import type { MethodTable } from "./methods.ts";
import type { NodePort } from "../node/node_http.ts";
import type { NodeReply } from "../http_pool/reply_body.ts";
import { clientFailure, clientText, type Placement } from "./placement.ts";
import type { ReadSocket } from "../node/read_socket.ts";

/** The context of a message, which its answer may depend on. */
export interface MessageContext {
  /** Value of `X-Forwarded-For` for the node. */
  readonly forwardedFor: string;
  /** Stands for the caller, among whom reads take turns. */
  readonly key: string;
  /** Handles subscription calls of a WebSocket; undefined for any other call, and over HTTP. */
  subscriptions?: (call: Call) => Promise<string> | undefined;
}

/** The answer to a message; over WebSocket the body alone. */
export interface RoutedAnswer {
  status: number;
  /** Null if there is no answer: the message had only calls without an id. */
  body: string | null;
  /** The source of the answer: a label of the metrics. */
  target: Target | "mixed" | "proxy";
}

/** Options of a {@link Router}. */
export interface RouterOptions {
  methods: MethodTable;
  nodes: Readonly<Record<Target, NodePort>>;
  /** Picks the read node of a call. */
  placement: Placement;
  /** A faster way for plain reads to the leading read node. */
  readSocket?: Pick<ReadSocket, "ask">;
  maxBatch: number;
  /** Send equal reads in flight once. */
  coalesceReads: boolean;
  /** Counts replies that wait to be taken apart. */
  budget: ByteBudget;
  metrics: ProxyMetrics;
}

/** Longer reads go over HTTP: nodes close a WebSocket on a large message, and all callers share it. */
const OVER_WS_LENGTH_MAX = 16 * 1024;

/** Ids of calls to nodes begin at random below this, so that no caller can guess those of others. */
const FIRST_ID_MAX = 2 ** 48;

/** Sends each call of a message to its node and joins the answers in the caller's order. */
export class Router {
  readonly #options: RouterOptions;
  readonly #reads: InFlightReads | undefined;
  readonly #splitTurns: SplitTurns;
  #lastId = Math.floor(Math.random() * FIRST_ID_MAX);

  constructor(options: RouterOptions) {
    this.#options = options;
    this.#splitTurns = new SplitTurns(options.budget);
    this.#reads = options.coalesceReads ? new InFlightReads() : undefined;
  }

  /** Answers one message; never throws for an error of a caller or a node. */
  async answer(text: string, context: MessageContext): Promise<RoutedAnswer> {
    let message: Message;
    try {
      message = readMessage(text, this.#options.maxBatch);
    } catch (thrown) {
      if (!(thrown instanceof MessageError)) throw thrown;
      return { status: thrown.status, body: failureText(thrown.id, thrown), target: "proxy" };
    }
    return Array.isArray(message)
      ? await this.#answerBatch(message, context)
      : await this.#answerCall(message, context);
  }

  async #answerCall(call: Call, context: MessageContext): Promise<RoutedAnswer> {
    const { metrics, methods } = this.#options;
    metrics.countCall(call.method);
    const { target, isPlainRead, hasLargeAnswer } = methods.kindOf(call.method);
    try {
      const subscription = context.subscriptions?.(call);
      if (subscription !== undefined) return routed(call, 200, await subscription, target);
      const { status, body } = isPlainRead && call.id !== undefined
        ? await this.#read(call, call.id, hasLargeAnswer, context)
        : await this.#send(call, target, context);
      return routed(call, status, body, target);
    } catch (thrown) {
      if (!(thrown instanceof ProxyError)) throw thrown;
      const error = clientFailure(call, thrown);
      return routed(call, error.status, failureText(call.id, error), target);
    }
  }

  /** Answers a plain read, perhaps with the answer to an equal one. */
  async #read(
    call: Call,
    id: string,
    hasLargeAnswer: boolean,
    context: MessageContext,
  ): Promise<NodeReply> {
    const { readSocket, placement } = this.#options;
    const { node, rest } = placement.place(call);
    const begun = this.#reads?.begin(rest);
    let answer = begun instanceof Promise ? await begun : undefined;
    const overHttp = () => this.#readOverHttp(node, rest, context);
    const fitsSocket = node === placement.leader && rest.length <= OVER_WS_LENGTH_MAX &&
      !hasLargeAnswer && !isFullBlock(call);
    try {
      answer ??= readSocket !== undefined && fitsSocket
        ? await readSocket.ask({ method: call.method, rest, caller: context.key, overHttp })
        : await overHttp();
    } finally {
      if (begun !== undefined && !(begun instanceof Promise)) this.#reads?.land(begun, answer);
    }
    return { status: answer.status, body: answerUnder(answer, id) };
  }

  async #readOverHttp(node: number, rest: string, context: MessageContext): Promise<Answer> {
    const id = this.#lastId += 1;
    const { forwardedFor } = context;
    const isAnswer = (body: string) => readAnswer({ status: 200, body }, id) !== undefined;
    const options = { forwardedFor, retryIfStale: true, allowFailover: true, isAnswer, node };
    return answerTo(id, await this.#options.nodes.read.post(callText(rest, id), options), "read");
  }

  /** Sends a call that must not be sent twice. */
  async #send(call: Call, target: Target, { forwardedFor }: MessageContext): Promise<NodeReply> {
    const { nodes, placement } = this.#options;
    const { node, rest } = target === "read" ? placement.place(call) : { rest: call.rest };
    const id = this.#lastId += 1;
    try {
      const text = callText(rest, call.id === undefined ? undefined : id);
      const reply = await nodes[target].post(text, { forwardedFor, node });
      if (call.id === undefined) return reply;
      const body = answerUnder(answerTo(id, reply, target), call.id);
      return { status: reply.status, body: clientText(call, node, body) };
    } finally {
      // After a change, even if its answer was lost, a read must not share an older read's answer.
      this.#reads?.forget();
    }
  }

  async #answerBatch(
    batch: readonly (Call | BrokenCall)[],
    context: MessageContext,
  ): Promise<RoutedAnswer> {
    const answers: (string | undefined)[] = new Array(batch.length);
    const parts = new Map<string, BatchPart>();
    const targets = new Set<Target>();
    const work: Promise<void>[] = [];
    for (const [index, item] of batch.entries()) {
      if (isBroken(item)) {
        answers[index] = failureText(item.id, item.error);
        continue;
      }
      this.#options.metrics.countCall(item.method);
      const subscription = context.subscriptions?.(item);
      if (subscription !== undefined) {
        work.push(subscription.then((text) => {
          if (item.id !== undefined) answers[index] = text;
        }));
        continue;
      }
      const { target } = this.#options.methods.kindOf(item.method);
      targets.add(target);
      try {
        const place = target === "read" ? this.#options.placement.place(item) : undefined;
        const key = `${target} ${place?.node ?? ""}`;
        const part = parts.get(key) ?? { target, node: place?.node, calls: [] };
        part.calls.push({ index, call: item, rest: place?.rest ?? item.rest });
        parts.set(key, part);
      } catch (thrown) {
        if (!(thrown instanceof ProxyError)) throw thrown;
        if (item.id !== undefined) answers[index] = failureText(item.id, thrown);
      }
    }
    for (const part of parts.values()) {
      work.push(
        this.#sendBatch(part, context).then((texts) => {
          for (const [position, { index }] of part.calls.entries()) {
            answers[index] = texts[position];
          }
        }),
      );
    }
    await Promise.all(work);
    const target = targets.size > 1 ? "mixed" : [...targets][0] ?? "proxy";
    const texts = answers.filter((text) => text !== undefined);
    if (texts.length === 0) return { status: 204, body: null, target };
    return { status: 200, body: `[${texts.join(",")}]`, target };
  }

  /** One node's answers to its calls of a batch, in their order; undefined for a notification. */
  async #sendBatch(
    { target, node, calls: sent }: BatchPart,
    { forwardedFor }: MessageContext,
  ): Promise<(string | undefined)[]> {
    const { methods, nodes } = this.#options;
    const calls = sent.map(({ call }) => call);
    const isPlain = calls.every(({ method }) => methods.kindOf(method).isPlainRead);
    const firstId = this.#lastId + 1;
    this.#lastId += sent.length;
    const texts = sent.map(({ call: { id }, rest }, index) =>
      callText(rest, id === undefined ? undefined : firstId + index)
    );
    try {
      const options = { forwardedFor, allowFailover: isPlain, node };
      const reply = await nodes[target].post(`[${texts.join(",")}]`, options);
      await this.#splitTurns.next(reply.body.length);
      return splitBatchReply(calls, firstId, reply, target).map((text, index) => {
        const call = calls[index];
        return text && call && clientText(call, node, text);
      });
    } catch (thrown) {
      if (!(thrown instanceof ProxyError)) throw thrown;
      return calls.map((call) =>
        call.id === undefined ? undefined : failureText(call.id, clientFailure(call, thrown))
      );
    } finally {
      if (!isPlain) this.#reads?.forget();
    }
  }
}

/** The calls of a batch that go to one node. */
interface BatchPart {
  target: Target;
  node: number | undefined;
  calls: { index: number; call: Call; rest: string }[];
}

function routed(call: Call, status: number, body: string, target: Target): RoutedAnswer {
  return call.id === undefined ? { status: 204, body: null, target } : { status, body, target };
}

/** Whether a block is asked for with all its transactions. */
function isFullBlock({ method, params }: Call): boolean {
  return method.startsWith("eth_getBlockBy") && Array.isArray(params) && params[1] === true;
}

/**
 * Reads the answer to a call. That to a write is taken under any id: its caller must not lose it.
 *
 * @throws {ProxyError} 502 if it is no answer to this call: an error page, or another call's.
 */
function answerTo(id: number, reply: NodeReply, target: Target): Answer {
  if (!/^\s*[{[]/.test(reply.body)) {
    throw answerLost(target, `HTTP status ${reply.status} without a JSON body`);
  }
  const answer = readAnswer(reply, id);
  if (answer !== undefined) return answer;
  if (target === "read") throw answerLost(target, "it answered another call");
  return { status: reply.status, text: reply.body, id: undefined };
}
