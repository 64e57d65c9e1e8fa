import type { RpcId } from "../../../lib/protocol/jsonrpc.ts";
import type { ByteBudget } from "../byte_budget.ts";
import type { Cut } from "../json_text.ts";
import type { NodeReply } from "../http_pool/reply_body.ts";
import type { ProxyMetrics, Target } from "../metrics.ts";
import { splitBatchReply, SplitTurns } from "./batch.ts";
import {
  type BrokenCall,
  type Call,
  cutAtId,
  idText,
  isBroken,
  type Message,
  MessageError,
  readMessage,
} from "./calls.ts";
import { answerLost, ProxyError } from "./failures.ts";
import { type Flight, InFlightReads } from "./in_flight_reads.ts";
import type { MethodTable } from "./methods.ts";
import type { NodePort } from "./node_http.ts";
import type { SeveralNodes } from "./several_nodes.ts";
import { ReadLostError, type UpstreamReads } from "./upstream_reads.ts";

/** The context of a message, which its answer may depend on. */
export interface MessageContext {
  /** Value of `X-Forwarded-For` for the node. */
  readonly forwardedFor: string;
  /** Handles subscription calls of a WebSocket; undefined for any other call, and over HTTP. */
  subscriptions?: (call: Call) => Promise<string> | undefined;
}

/** The answer to a message; over WebSocket the body alone. */
export interface RoutedAnswer {
  status: number;
  /** Null if there is no answer: the message had only calls without an id. */
  body: NodeReply["body"] | null;
  /** The source of the answer: a label of the metrics. */
  target: Target | "mixed" | "proxy";
}

/** Options of a {@link Router}. */
export interface RouterOptions {
  methods: MethodTable;
  nodes: Readonly<Record<Target, NodePort>>;
  /** Another connection to the read node for plain reads; while it is unusable they go over HTTP. */
  upstreamReads?: UpstreamReads;
  /** Set if there are several read nodes. */
  several?: SeveralNodes;
  maxBatch: number;
  /** Send equal reads in flight once. */
  coalesceReads: boolean;
  /** Counts replies that wait to be taken apart. */
  budget: ByteBudget;
  metrics: ProxyMetrics;
}

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const SPACES = new Set([0x20, 0x0a, 0x0d, 0x09]);

/** Longer reads go over HTTP: nodes close a WebSocket on a large message, and all clients share it. */
const OVER_WS_LENGTH_MAX = 16 * 1024;

/** Sends each call of a message to its node and joins the answers in the caller's order. */
export class Router {
  readonly #options: RouterOptions;
  readonly #reads: InFlightReads | undefined;
  readonly #splitTurns: SplitTurns;
  /** Whether reads are split at their id: to share answers, or to send them with another id. */
  readonly #needsCut: boolean;

  constructor(options: RouterOptions) {
    this.#options = options;
    this.#splitTurns = new SplitTurns(options.budget);
    this.#reads = options.coalesceReads ? new InFlightReads() : undefined;
    this.#needsCut = options.coalesceReads || options.upstreamReads !== undefined;
  }

  /** Answers one message; never throws for an error of a caller or a node. */
  async answer(text: string, context: MessageContext): Promise<RoutedAnswer> {
    const { maxBatch, metrics, methods, nodes, upstreamReads, several } = this.#options;
    let message: Message;
    try {
      message = readMessage(text, maxBatch);
    } catch (thrown) {
      if (!(thrown instanceof MessageError)) throw thrown;
      return { status: thrown.status, body: failureText(thrown.id, thrown), target: "proxy" };
    }
    if (Array.isArray(message)) return await this.#answerBatch(message, context);
    const call = message;
    metrics.countCall(call.method);
    const { target, isPlainRead, hasLargeAnswer } = methods.kindOf(call.method);
    const isAnswered = call.id !== undefined;
    try {
      const subscription = context.subscriptions?.(call);
      if (subscription !== undefined) {
        const body = await subscription;
        return { status: 200, body: isAnswered ? body : null, target };
      }
      const place = target === "read" ? several?.place(call) : undefined;
      let reply: NodeReply | undefined;
      let flight: Flight | undefined;
      if (!isPlainRead || !isAnswered) {
        const part = { target, node: place?.node, text: place?.text ?? text, isPlain: false };
        reply = await this.#deliver(part, context);
        if (place !== undefined) reply = several?.shownReply(call, place.node, reply) ?? reply;
      } else {
        const cut = this.#needsCut ? cutAtId(call) : undefined;
        const begun = cut && this.#reads?.begin(cut);
        if (begun instanceof Promise) reply = await begun;
        else flight = begun;
        try {
          const isOverWs = upstreamReads?.usable && !hasLargeAnswer &&
            text.length <= OVER_WS_LENGTH_MAX &&
            place?.node === several?.leader;
          if (isOverWs && cut !== undefined) reply ??= await overWs(upstreamReads, cut);
          reply ??= await nodes.read.post(text, context.forwardedFor, true, true, place?.node);
        } finally {
          if (flight !== undefined) this.#reads?.land(flight, reply);
        }
      }
      if (!isAnswered) return { status: 204, body: null, target };
      return { status: reply.status, body: jsonBody(reply, target), target };
    } catch (thrown) {
      if (!(thrown instanceof ProxyError)) throw thrown;
      if (!isAnswered) return { status: 204, body: null, target };
      const error = several?.shownFailure(call, thrown) ?? thrown;
      return { status: error.status, body: failureOf(call, error), target };
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
        const place = target === "read" ? this.#options.several?.place(item) : undefined;
        const key = `${target} ${place?.node ?? ""}`;
        const part = parts.get(key) ?? { target, node: place?.node, calls: [] };
        part.calls.push({ index, call: item, text: place?.text ?? item.text });
        parts.set(key, part);
      } catch (thrown) {
        if (!(thrown instanceof ProxyError)) throw thrown;
        if (item.id !== undefined) answers[index] = failureOf(item, thrown);
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
    context: MessageContext,
  ): Promise<(string | undefined)[]> {
    const { methods, several } = this.#options;
    const calls = sent.map(({ call }) => call);
    try {
      const text = `[${sent.map(({ text }) => text).join(",")}]`;
      const isPlain = calls.every(({ method }) => methods.kindOf(method).isPlainRead);
      const reply = await this.#deliver({ target, node, text, isPlain }, context);
      await this.#splitTurns.next(reply.body.length);
      const texts = splitBatchReply(calls, reply, target);
      if (several === undefined || node === undefined) return texts;
      return texts.map((text, index) => {
        const call = calls[index];
        return text === undefined || call === undefined
          ? text
          : several.shownText(call, node, text);
      });
    } catch (thrown) {
      if (!(thrown instanceof ProxyError)) throw thrown;
      return calls.map((call) =>
        call.id === undefined
          ? undefined
          : failureOf(call, several?.shownFailure(call, thrown) ?? thrown)
      );
    }
  }

  /** Posts a message that must not be sent to the same node twice. */
  async #deliver(
    { target, node, text, isPlain }: Delivery,
    context: MessageContext,
  ): Promise<NodeReply> {
    try {
      const { nodes } = this.#options;
      return await nodes[target].post(text, context.forwardedFor, false, isPlain, node);
    } finally {
      // After a change, even if its answer was lost, a read must not share an older read's answer.
      if (!isPlain) this.#reads?.forget();
    }
  }
}

/** A message for one node. */
interface Delivery {
  target: Target;
  /** Which one of several read nodes. */
  node: number | undefined;
  text: string;
  /** Whether all of it are plain reads. */
  isPlain: boolean;
}

/** The calls of a batch that go to one node. */
interface BatchPart {
  target: Target;
  node: number | undefined;
  calls: { index: number; call: Call; text: string }[];
}

/** The text of a failure answer. */
export function failureText(id: RpcId, error: ProxyError): string {
  return failureUnder(JSON.stringify(id), error);
}

/** The text of a failure answer to a call, with its id exactly as it was written. */
export function failureOf(call: Call, error: ProxyError): string {
  return failureUnder(idText(call), error);
}

/** The text of a failure answer, with an id given as JSON text. */
export function failureUnder(id: string, { rpcCode: code, message }: ProxyError): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message })}}`;
}

/** @returns Undefined if the socket was lost: a plain read may be sent again over HTTP. */
async function overWs(reads: UpstreamReads, call: Cut): Promise<NodeReply | undefined> {
  try {
    return await reads.ask(call);
  } catch (thrown) {
    if (thrown instanceof ReadLostError) return undefined;
    throw thrown;
  }
}

/** @throws {ProxyError} 502 if the node answered something other than JSON, such as an error page. */
function jsonBody({ status, body }: NodeReply, target: Target): NodeReply["body"] {
  const first = typeof body === "string"
    ? body.charCodeAt(0)
    : body.find((byte) => !SPACES.has(byte)) ?? NaN;
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return body;
  if (typeof body === "string" && /^\s*[{[]/.test(body)) return body;
  throw answerLost(target, `HTTP status ${status} without a JSON body`);
}
