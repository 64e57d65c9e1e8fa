import { getLogger } from "@logtape/logtape";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import {
  idOf,
  parseJson,
  parseRequest,
  RpcCode,
  RpcError,
  type RpcErrorBody,
  rpcFailure,
  type RpcRequest,
  type RpcResponse,
  rpcResult,
} from "../../../lib/protocol/jsonrpc.ts";
import { SignatureError } from "../../../lib/protocol/signature.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import { RejectedTransactionError, SettlementError, UnknownThesisError } from "../errors.ts";
import type { Method } from "./methods.ts";
import { type Subscriber, TooManySubscriptionsError } from "./subscriptions.ts";
import type { SerialQueue } from "./serial_queue.ts";

/** Calls that one batch may hold. */
export const BATCH_MAX = 100;

/** Where a call came from. */
export interface Caller {
  /** Its subscriptions; undefined over HTTP. */
  client?: Subscriber;
  /** Write methods are refused. */
  isReadOnly: boolean;
}

/** How a call ended, for metrics. `method` is "unknown" where the node has no such method. */
export type CallObserver = (method: string, outcome: "ok" | "error") => void;

/** An answer as text; undefined where none is due. */
export interface Answer {
  text: string | undefined;
  /** What was sent is no JSON-RPC at all. */
  isMalformed: boolean;
}

/** What a {@link Dispatcher} works with. */
export interface DispatcherParts {
  methods: ReadonlyMap<string, Method>;
  observe: CallObserver;
  /** Costly methods pass through it. */
  turnstile: SerialQueue;
  /** Resolves when what was written would outlive the process. */
  afterWrite(): Promise<void>;
}

/** Turns the text of a request or a batch into the text of its answer. Never throws. */
export class Dispatcher {
  readonly #methods: ReadonlyMap<string, Method>;
  readonly #observe: CallObserver;
  readonly #turnstile: SerialQueue;
  readonly #afterWrite: () => Promise<void>;

  constructor(parts: DispatcherParts) {
    this.#methods = parts.methods;
    this.#observe = parts.observe;
    this.#turnstile = parts.turnstile;
    this.#afterWrite = parts.afterWrite;
  }

  /** Answers one body or frame. */
  async handle(text: string, caller: Caller): Promise<Answer> {
    let value: unknown;
    try {
      value = parseJson(text);
      if (Array.isArray(value)) return await this.#handleBatch(value, caller);
      parseRequest(value);
    } catch (thrown) {
      const response = { jsonrpc: "2.0", id: idOf(value), error: errorBody(thrown) };
      return { text: JSON.stringify(response), isMalformed: true };
    }
    const response = await this.#answer(value, caller);
    return { text: response && JSON.stringify(response), isMalformed: false };
  }

  async #handleBatch(items: readonly unknown[], caller: Caller): Promise<Answer> {
    if (items.length === 0) {
      throw new RpcError(RpcCode.invalidRequest, "Invalid request: the batch is empty");
    }
    if (items.length > BATCH_MAX) {
      throw new RpcError(
        RpcCode.limitExceeded,
        `A batch may hold ${BATCH_MAX} calls: received ${items.length}`,
      );
    }
    const responses: RpcResponse[] = [];
    for (const item of items) {
      const response = await this.#answer(item, caller);
      if (response !== undefined) responses.push(response);
    }
    return {
      text: responses.length > 0 ? JSON.stringify(responses) : undefined,
      isMalformed: false,
    };
  }

  async #answer(value: unknown, caller: Caller): Promise<RpcResponse | undefined> {
    let request: RpcRequest;
    try {
      request = parseRequest(value);
    } catch (thrown) {
      return { jsonrpc: "2.0", id: idOf(value), error: errorBody(thrown) };
    }
    const response = await this.#call(request, caller);
    // A request without an id is carried out and never answered.
    return request.id === undefined ? undefined : response;
  }

  async #call(
    { id = null, method: name, params }: RpcRequest,
    caller: Caller,
  ): Promise<RpcResponse> {
    const method = this.#methods.get(name);
    if (method === undefined) {
      this.#observe("unknown", "error");
      return rpcFailure(id, RpcCode.methodNotFound, `Method not found: ${name}`);
    }
    try {
      if (method.isWrite && caller.isReadOnly) {
        throw new RpcError(RpcCode.methodNotFound, `Method not available on a read port: ${name}`);
      }
      const call = () => method.call(params, caller.client);
      const result = method.isCostly ? await this.#turnstile.run(call) : call();
      if (method.isWrite) await this.#afterWrite();
      this.#observe(name, "ok");
      return rpcResult(id, result);
    } catch (thrown) {
      this.#observe(name, "error");
      return { jsonrpc: "2.0", id, error: errorBody(thrown) };
    }
  }
}

/** The error part of an answer, from anything that was thrown. */
function errorBody(thrown: unknown): RpcErrorBody {
  if (thrown instanceof RpcError) {
    const { rpcCode: code, message, data } = thrown;
    return data === undefined ? { code, message } : { code, message, data };
  }
  if (thrown instanceof RangemakerError) {
    const code = rpcCodeOf(thrown);
    if (code !== undefined) {
      return { code, message: thrown.message, data: { code: thrown.code, ...thrown.details } };
    }
  }
  getLogger([LOG_ROOT, "node"]).error("A call failed: {error}", { error: thrown });
  return { code: RpcCode.internalError, message: `Internal error: ${messageOf(thrown)}` };
}

function rpcCodeOf(error: RangemakerError): number | undefined {
  if (error instanceof SignatureError || error instanceof RejectedTransactionError) {
    return RpcCode.transactionRejected;
  }
  if (error instanceof TooManySubscriptionsError) return RpcCode.limitExceeded;
  if (error instanceof SettlementError) return RpcCode.settlementRefused;
  if (error instanceof UnknownThesisError) return RpcCode.invalidParams;
}
