import {
  idOf,
  parseJson,
  parseRequest,
  RpcCode,
  RpcError,
  rpcFailure,
  type RpcRequest,
  type RpcResponse,
  rpcResult,
} from "../../../lib/protocol/jsonrpc.ts";
import { rpcErrorBody } from "./errors.ts";
import type { Method } from "./methods.ts";
import type { SerialQueue } from "./serial_queue.ts";
import type { Subscriber } from "./subscriptions.ts";

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
  /** The input is not JSON-RPC at all. */
  isMalformed: boolean;
}

/** Parts of a {@link Dispatcher}. */
export interface DispatcherParts {
  methods: ReadonlyMap<string, Method>;
  observe: CallObserver;
  /** Runs costly methods. */
  queue: SerialQueue;
  /** Resolves when everything written so far would survive the process. */
  afterWrite(): Promise<void>;
}

/** Turns the text of a request or a batch into the text of its answer. Never throws. */
export class Dispatcher {
  readonly #parts: DispatcherParts;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
  }

  /** Answers one body or frame. */
  async handle(text: string, caller: Caller): Promise<Answer> {
    let value: unknown;
    let request: RpcRequest;
    try {
      value = parseJson(text);
      if (Array.isArray(value)) return await this.#handleBatch(value, caller);
      request = parseRequest(value);
    } catch (thrown) {
      return { text: JSON.stringify(failureOf(value, thrown)), isMalformed: true };
    }
    const response = await this.#answer(request, caller);
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
      const response = await this.#answerItem(item, caller);
      if (response !== undefined) responses.push(response);
    }
    return {
      text: responses.length > 0 ? JSON.stringify(responses) : undefined,
      isMalformed: false,
    };
  }

  async #answerItem(item: unknown, caller: Caller): Promise<RpcResponse | undefined> {
    let request: RpcRequest;
    try {
      request = parseRequest(item);
    } catch (thrown) {
      return failureOf(item, thrown);
    }
    return await this.#answer(request, caller);
  }

  /** Runs a call. One without an id runs, too, but gets no answer. */
  async #answer(request: RpcRequest, caller: Caller): Promise<RpcResponse | undefined> {
    const response = await this.#call(request, caller);
    return request.id === undefined ? undefined : response;
  }

  async #call(
    { id = null, method: name, params }: RpcRequest,
    caller: Caller,
  ): Promise<RpcResponse> {
    const { methods, observe, queue, afterWrite } = this.#parts;
    const method = methods.get(name);
    if (method === undefined) {
      observe("unknown", "error");
      return rpcFailure(id, RpcCode.methodNotFound, `Method not found: ${name}`);
    }
    try {
      if (method.isWrite && caller.isReadOnly) {
        throw new RpcError(RpcCode.methodNotFound, `Method not available on a read port: ${name}`);
      }
      const call = () => method.call(params, caller.client);
      const result = method.isCostly ? await queue.run(call) : call();
      if (method.isWrite) await afterWrite();
      observe(name, "ok");
      return rpcResult(id, result);
    } catch (thrown) {
      observe(name, "error");
      return { jsonrpc: "2.0", id, error: rpcErrorBody(thrown) };
    }
  }
}

function failureOf(value: unknown, thrown: unknown): RpcResponse {
  return { jsonrpc: "2.0", id: idOf(value), error: rpcErrorBody(thrown) };
}
