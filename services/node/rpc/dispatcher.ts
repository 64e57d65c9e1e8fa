import { RangemakerError } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { isTooComplex } from "../../../lib/json_text.ts";
import {
  idBesideParams,
  idOf,
  parseJson,
  parseRequest,
  RpcCode,
  RpcError,
  type RpcErrorBody,
  rpcFailure,
  type RpcId,
  type RpcRequest,
  rpcResult,
} from "../../../lib/protocol/jsonrpc.ts";
import { StorageError } from "../store/database.ts";
import type { CallableMethod } from "./method.ts";
import { NodeBusyError, type SerialQueue } from "./serial_queue.ts";
import type { ClientSubscriptions } from "./subscriptions.ts";

const CALLS_PER_BATCH_MAX = 100;

/**
 * Once the answers of a batch have this many characters, its remaining calls are refused. Three
 * full pages of price history fit.
 */
const BATCH_ANSWER_CHARS_MAX = 768 * 1024;

const BATCH_TOO_LONG = new RangemakerError(
  "BATCH_TOO_LONG",
  "Answers of the batch are too long: send this call in another batch",
);

/**
 * Limits on a message: a batch of 100 bets has half as many values, and the prices of backfills that
 * fit in a message have fewer commas.
 */
const REQUEST_BOUNDS = { depth: 64, parts: 5_000, commas: 2 ** 17 };

/** Shorter messages cannot have too many parts. */
const SIMPLE_CHARS = 4_096;

/** Where a call came from. */
export interface Caller {
  /** The caller and its groups, which share the queue: see {@link SerialQueue.run}. */
  groups(): readonly string[];
  /** Undefined over HTTP. */
  subscriptions?: ClientSubscriptions;
  isReadOnly: boolean;
}

/** The text of an answer; undefined if the call gets none. `error` is why the call failed. */
interface CallAnswer {
  text: string | undefined;
  error?: unknown;
}

/** An answer as text; undefined if the request gets none. */
interface RpcAnswer {
  text: string | undefined;
  /** The input is not JSON-RPC at all. */
  isMalformed: boolean;
}

interface DispatcherOptions {
  methods: ReadonlyMap<string, CallableMethod>;
  /** For metrics. `method` is "unknown" where the node has no such method. */
  onCallEnded: (method: string, outcome: "ok" | "error") => void;
  /** Runs costly calls and the calls of batches, so that checkpoints come between them. */
  queue: SerialQueue;
  /** Resolves when all changes that an answer may report are on the disk. */
  beforeAnswer(): Promise<void>;
  /** A call could not read or write the chain. */
  onStorageError?(error: StorageError): void;
}

/** Turns the text of a request or a batch into the text of its answer. Never throws. */
export class Dispatcher {
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  async handle(text: string, caller: Caller): Promise<RpcAnswer> {
    let value: unknown;
    let request: RpcRequest;
    try {
      requireSimple(text);
    } catch (thrown) {
      // Not parsed yet; without its id, the sender of many requests cannot tell which one it was.
      return { text: failureText(idBesideParams(text), thrown), isMalformed: true };
    }
    try {
      value = parseJson(text);
      if (Array.isArray(value)) return await this.#handleBatch(value, caller);
      request = parseRequest(value);
    } catch (thrown) {
      return { text: failureText(idOf(value), thrown), isMalformed: true };
    }
    const { text: answer } = await this.#call(request, caller);
    return { text: answer, isMalformed: false };
  }

  async #handleBatch(items: readonly unknown[], caller: Caller): Promise<RpcAnswer> {
    if (items.length === 0) {
      throw new RpcError(
        RpcCode.invalidRequest,
        "Invalid request: the batch is empty: send one call or more",
      );
    }
    if (items.length > CALLS_PER_BATCH_MAX) {
      throw new RpcError(
        RpcCode.limitExceeded,
        `A batch may have ${CALLS_PER_BATCH_MAX} calls: received ${items.length}; send several batches`,
      );
    }
    const answers: string[] = [];
    let chars = 0;
    let refusal: RangemakerError | undefined; // of all further calls
    for (const item of items) {
      const { text, error } = await this.#answerItem(item, caller, refusal);
      if (error instanceof NodeBusyError) refusal = error;
      if (text === undefined) continue;
      chars += text.length;
      if (chars >= BATCH_ANSWER_CHARS_MAX) refusal ??= BATCH_TOO_LONG;
      answers.push(text);
    }
    // Refused calls do not go through the queue, so yield here to leave time for checkpoints.
    if (refusal !== undefined) await this.#options.queue.yieldToEventLoop();
    return { text: answers.length > 0 ? `[${answers.join()}]` : undefined, isMalformed: false };
  }

  /** Answers a call of a batch. @param refusal Why it is not run. */
  async #answerItem(item: unknown, caller: Caller, refusal?: RangemakerError): Promise<CallAnswer> {
    let request: RpcRequest;
    try {
      request = parseRequest(item);
    } catch (thrown) {
      await this.#options.queue.yieldToEventLoop();
      return { text: failureText(idOf(item), thrown) };
    }
    if (refusal !== undefined) return answerTo(request, failureText(request.id, refusal));
    return await this.#call(request, caller, { isInBatch: true });
  }

  /** Runs a call. */
  async #call(
    request: RpcRequest,
    caller: Caller,
    { isInBatch = false } = {},
  ): Promise<CallAnswer> {
    const { id, method: name, params } = request;
    const { methods, onCallEnded, queue, beforeAnswer, onStorageError } = this.#options;
    const method = findMethod(methods, name, caller);
    const run = () => {
      // One task for both: encoding a long result takes as long as computing it.
      const text = JSON.stringify(rpcResult(id ?? null, method.call(params, caller.subscriptions)));
      // Called in the same task: the next task may fail, and its rollback would undo this change.
      const committed = beforeAnswer();
      committed.catch(() => {}); // it is awaited below
      return { text, committed };
    };
    try {
      const lane = method.access === "write" ? "write" : "read";
      const isQueued = method.isCostly || isInBatch;
      const { text, committed } = isQueued ? await queue.run(lane, caller.groups(), run) : run();
      await committed;
      onCallEnded(name, "ok");
      return answerTo(request, text);
    } catch (thrown) {
      if (thrown instanceof StorageError) onStorageError?.(thrown);
      onCallEnded(methods.has(name) ? name : "unknown", "error");
      return answerTo(request, failureText(id, thrown), thrown);
    }
  }
}

/** A call without an id also runs, but gets no answer. */
function answerTo({ id }: RpcRequest, text: string, error?: unknown): CallAnswer {
  return { text: id === undefined ? undefined : text, error };
}

/** The method of a call; in place of one that its port lacks, one that throws why. */
function findMethod(
  methods: ReadonlyMap<string, CallableMethod>,
  name: string,
  { isReadOnly }: Caller,
): CallableMethod {
  const method = methods.get(name);
  if (method !== undefined && !(isReadOnly && method.access === "write")) return method;
  const message = method === undefined
    ? `Method not found: ${name}; rpc.discover lists the methods`
    : `Method not available on a read port: ${name}; send it to the write node`;
  return {
    call() {
      throw new RpcError(RpcCode.methodNotFound, message);
    },
  };
}

/** @throws {RpcError} -32005 if it takes so long to parse that a checkpoint could be late. */
function requireSimple(text: string): void {
  if (text.length <= SIMPLE_CHARS || !isTooComplex(text, REQUEST_BOUNDS)) return;
  const { depth, parts, commas } = REQUEST_BOUNDS;
  throw new RpcError(
    RpcCode.limitExceeded,
    `Message is too large: it may have ${parts} values, nested ${depth} deep, ` +
      `and ${commas} list elements; send less at once`,
  );
}

function failureText(id: RpcId | undefined, thrown: unknown): string {
  const { code, message, data } = rpcErrorBody(thrown);
  return JSON.stringify(rpcFailure(id ?? null, code, message, data));
}

/** The JSON-RPC code of each domain error that a caller can cause. Others are internal errors. */
const RPC_CODES: Readonly<Record<string, number>> = {
  INVALID_SIGNATURE: RpcCode.transactionRejected,
  TIMESTAMP_OUT_OF_RANGE: RpcCode.transactionRejected,
  UNKNOWN_THESIS: RpcCode.invalidParams,
  UNKNOWN_SNAPSHOT: RpcCode.invalidParams,
  NotEnded: RpcCode.settlementRefused,
  NeedsBackfill: RpcCode.settlementRefused,
  TOO_MANY_SUBSCRIPTIONS: RpcCode.limitExceeded,
  NODE_BUSY: RpcCode.limitExceeded,
  BATCH_TOO_LONG: RpcCode.limitExceeded,
};

/** The error part of an answer, from anything that was thrown. */
export function rpcErrorBody(thrown: unknown): RpcErrorBody {
  if (thrown instanceof RpcError) {
    const { rpcCode: code, message, data } = thrown;
    return data === undefined ? { code, message } : { code, message, data };
  }
  if (thrown instanceof RangemakerError) {
    const code = RPC_CODES[thrown.code];
    if (code !== undefined) {
      return { code, message: thrown.message, data: { code: thrown.code, ...thrown.details } };
    }
  }
  if (thrown instanceof StorageError) {
    // The error's own message may contain file names. `/health` and the log have the reason.
    const message = "The node cannot write to its disk now: send the same request again later";
    return { code: RpcCode.resourceUnavailable, message, data: { code: thrown.code } };
  }
  serviceLog("node").error("A JSON-RPC call failed: {error}", { error: thrown });
  return { code: RpcCode.internalError, message: "Internal error: see the log of the node" };
}
