import type { RpcId } from "../../../lib/protocol/jsonrpc.ts";
import { type Call, idText, isBroken, type Message, MessageError, readMessage } from "./calls.ts";
import { answerLost, ProxyError } from "./failures.ts";
import { InFlightReads } from "./in_flight_reads.ts";
import { splitBatchReply } from "./batch.ts";
import { type Cut, cutAtMember } from "../json_text.ts";
import type { MethodTable } from "./methods.ts";
import type { ProxyMetrics, Target } from "../metrics.ts";
import type { NodePort } from "./node_http.ts";
import type { NodeReply } from "../http_pool/reply_body.ts";
import { ReadLostError, type UpstreamReads } from "./upstream_reads.ts";

/** The caller of a message. */
export interface MessageContext {
  /** Value of `X-Forwarded-For` for the node; asked for only where it is sent. */
  forwardedFor: () => string;
  /** Takes subscription calls of a WebSocket; undefined for a call that is none, and over HTTP. */
  subscriptions?: (call: Call) => Promise<string> | undefined;
}

/** What a caller is answered; over WebSocket the body alone. */
export interface RoutedAnswer {
  status: number;
  /** Null where nothing is answered: the message held nothing but calls without an id. */
  body: NodeReply["body"] | null;
  /** Who answered: a label of the metrics. */
  target: Target | "mixed" | "proxy";
}

/** What a {@link Router} works with. */
export interface RouterOptions {
  methods: MethodTable;
  nodes: Readonly<Record<Target, NodePort>>;
  /** Another way to the read node for plain reads; HTTP is used where it is not usable. */
  upstreamReads?: UpstreamReads;
  maxBatch: number;
  /** Equal reads in flight are sent once. */
  coalesceReads: boolean;
  metrics: ProxyMetrics;
}

const OPENS_JSON = new Set([0x7b, 0x5b]); // { and [
const SPACES = new Set([0x20, 0x0a, 0x0d, 0x09]);

/** Sends each call of a message to its node and puts the answers together in the caller's order. */
export class Router {
  readonly #options: RouterOptions;
  readonly #reads: InFlightReads | undefined;

  constructor(options: RouterOptions) {
    this.#options = options;
    this.#reads = options.coalesceReads ? new InFlightReads() : undefined;
  }

  /** Answers one message of a caller; never throws for what a caller or a node does wrong. */
  answer(text: string, caller: MessageContext): Promise<RoutedAnswer> {
    let message: Message;
    try {
      message = readMessage(text, this.#options.maxBatch);
    } catch (thrown) {
      if (!(thrown instanceof MessageError)) return Promise.reject(thrown);
      const body = failureText(thrown.id, thrown);
      return Promise.resolve({ status: thrown.status, body, target: "proxy" });
    }
    if ("single" in message) return this.#answerSingle(message.single, caller);
    return this.#answerBatch(message.batch, caller);
  }

  async #answerSingle(call: Call, caller: MessageContext): Promise<RoutedAnswer> {
    const target = this.#count(call);
    const answered = call.id !== undefined;
    try {
      const subscription = caller.subscriptions?.(call);
      if (subscription !== undefined) {
        const body = await subscription;
        return { status: 200, body: answered ? body : null, target };
      }
      const reply = await this.#send(call, target, caller);
      if (!answered) return { status: 204, body: null, target };
      return { status: reply.status, body: reply.body, target };
    } catch (thrown) {
      if (!(thrown instanceof ProxyError)) throw thrown;
      if (!answered) return { status: 204, body: null, target };
      return { status: thrown.status, body: failureOf(call, thrown), target };
    }
  }

  async #answerBatch(
    batch: readonly (Call | { id: RpcId; error: ProxyError })[],
    caller: MessageContext,
  ): Promise<RoutedAnswer> {
    const answers: (string | undefined)[] = new Array(batch.length);
    const groups: Record<Target, number[]> = { read: [], write: [] };
    const work: Promise<void>[] = [];
    const calls = new Map<number, Call>();
    for (const [index, item] of batch.entries()) {
      if (isBroken(item)) {
        answers[index] = failureText(item.id, item.error);
        continue;
      }
      calls.set(index, item);
      const target = this.#count(item);
      const subscription = caller.subscriptions?.(item);
      if (subscription === undefined) groups[target].push(index);
      else {
        work.push(subscription.then((text) => {
          if (item.id !== undefined) answers[index] = text;
        }));
      }
    }
    for (const target of ["read", "write"] as const) {
      const indexes = groups[target];
      if (indexes.length === 0) continue;
      const part = indexes.map((index) => calls.get(index)).filter((call) => call !== undefined);
      work.push(
        this.#sendBatch(part, target, caller).then((texts) => {
          for (const [position, index] of indexes.entries()) answers[index] = texts[position];
        }),
      );
    }
    await Promise.all(work);
    const target = batchTarget(groups);
    const texts = answers.filter((text) => text !== undefined);
    if (texts.length === 0) return { status: 204, body: null, target };
    return { status: 200, body: `[${texts.join(",")}]`, target };
  }

  /** The answers to calls of one batch for one node, in their order; undefined where none is due. */
  async #sendBatch(
    calls: readonly Call[],
    target: Target,
    caller: MessageContext,
  ): Promise<(string | undefined)[]> {
    try {
      const text = `[${calls.map((call) => call.text).join(",")}]`;
      const arePlain = calls.every(({ method }) => this.#options.methods.isPlainRead(method));
      const reply = await this.#deliver(text, target, caller, { arePlain, mayRepeat: false });
      return splitBatchReply(calls, reply, target);
    } catch (thrown) {
      if (!(thrown instanceof ProxyError)) throw thrown;
      return calls.map((call) => call.id === undefined ? undefined : failureOf(call, thrown));
    }
  }

  #send(call: Call, target: Target, caller: MessageContext): Promise<NodeReply> {
    const cut = call.id !== undefined && this.#options.methods.isPlainRead(call.method)
      ? cutAtMember(call.text, "id")
      : undefined;
    if (cut === undefined) return this.#post(call, target, caller);
    const read = () => this.#read(call, cut, caller);
    return this.#reads === undefined ? read() : this.#reads.ask(cut, read);
  }

  #read(call: Call, cut: Cut, caller: MessageContext): Promise<NodeReply> {
    const { upstreamReads } = this.#options;
    if (!upstreamReads?.usable) return this.#post(call, "read", caller, true);
    return upstreamReads.ask(cut).catch((thrown: unknown) => {
      if (!(thrown instanceof ReadLostError)) throw thrown;
      return this.#post(call, "read", caller, true); // a plain read may be sent again
    });
  }

  async #post(
    call: Call,
    target: Target,
    caller: MessageContext,
    mayRepeat = false,
  ): Promise<NodeReply> {
    const reply = await this.#deliver(call.text, target, caller, {
      arePlain: mayRepeat,
      mayRepeat,
    });
    if (call.id !== undefined && !looksLikeJson(reply.body)) {
      throw answerLost(target, `HTTP status ${reply.status} without a JSON body`);
    }
    return reply;
  }

  #deliver(
    text: string,
    target: Target,
    caller: MessageContext,
    { arePlain, mayRepeat }: { arePlain: boolean; mayRepeat: boolean },
  ): Promise<NodeReply> {
    const reply = this.#options.nodes[target].post(text, caller.forwardedFor(), mayRepeat);
    if (arePlain) return reply;
    // After a change, be its answer lost, a read must not share that of one that began before it.
    return reply.finally(() => this.#reads?.forget());
  }

  #count(call: Call): Target {
    this.#options.metrics.countCall(call.method);
    return this.#options.methods.targetOf(call.method);
  }
}

/** The text of a failure answer. */
export function failureText(id: RpcId, error: ProxyError): string {
  return failureUnder(JSON.stringify(id), error);
}

/** The text of a failure answer to a call, under its id as it was written. */
export function failureOf(call: Call, error: ProxyError): string {
  return failureUnder(idText(call), error);
}

function failureUnder(id: string, { rpcCode: code, message }: ProxyError): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message })}}`;
}

function batchTarget(groups: Record<Target, number[]>): RoutedAnswer["target"] {
  if (groups.read.length > 0) return groups.write.length > 0 ? "mixed" : "read";
  return groups.write.length > 0 ? "write" : "proxy";
}

function looksLikeJson(body: NodeReply["body"]): boolean {
  if (typeof body === "string") return /^\s*[{[]/.test(body);
  const first = body.find((byte) => !SPACES.has(byte));
  return first !== undefined && OPENS_JSON.has(first);
}
