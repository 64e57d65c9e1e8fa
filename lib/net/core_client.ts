import * as z from "zod";
import { type Account, accountSchema } from "../protocol/account.ts";
import { parseResponse, RpcCode, RpcError } from "../protocol/jsonrpc.ts";
import { type NodePrice, nodePriceSchema } from "../protocol/price.ts";
import { type Receipt, receiptSchema } from "../protocol/receipt.ts";
import {
  type Address,
  hash32Schema,
  type Hex,
  timestampSchema,
  uint64Schema,
} from "../protocol/scalars.ts";
import { type Thesis, thesisSchema, type ThesisStatus } from "../protocol/thesis.ts";
import type { Transaction } from "../protocol/transaction.ts";
import { toWire } from "../protocol/wire.ts";
import { NetworkError, request, unreachableReason } from "./http_request.ts";

/** How long a node may take to answer, unless the caller says otherwise. */
export const NODE_TIMEOUT_MS = 5_000;

/** The node could not be reached, or its answer was lost: whether it acted is unknown. */
export class NodeUnreachableError extends NetworkError {
  constructor(url: string, cause: unknown) {
    const reason = unreachableReason(url, cause);
    super("NODE_UNREACHABLE", `Core node at ${url} cannot be reached: ${reason}`, cause);
  }
}

/** The node took too long: whether it acted is unknown. */
export class NodeTimeoutError extends NetworkError {
  constructor(url: string, method: string, timeoutMs: number) {
    super("NODE_TIMEOUT", `Core node at ${url} did not answer ${method} within ${timeoutMs} ms`);
  }
}

/** Whether a call got no answer of the node. */
export function isNodeAway(thrown: unknown): thrown is NodeUnreachableError | NodeTimeoutError {
  return thrown instanceof NodeUnreachableError || thrown instanceof NodeTimeoutError;
}

/** Narrows `core_getTheses`. */
export interface ThesisFilter {
  user?: Address;
  solver?: Address;
  status?: ThesisStatus;
  /** Most theses in one answer. */
  limit?: number;
  /** `nextCursor` of the answer before. */
  cursor?: string | undefined;
}

/** Slots of one market for `core_getPriceHistory`: those that start in `[from, to)`, Unix ms. */
export interface HistoryQuery {
  base: Address;
  quote: Address;
  from: number;
  to: number;
  /** `nextCursor` of the answer before. */
  cursor?: string | undefined;
}

const spanSchema = z.object({ from: timestampSchema, to: timestampSchema });

/** Result of `core_getPriceHistory`. */
export const historyPageSchema = z.object({
  prices: z.array(z.object({ time: timestampSchema, price: uint64Schema })),
  missing: z.array(spanSchema),
  nextCursor: z.string().nullable(),
});

/** One page of recorded prices, oldest first, and the spans of slots that have none. */
export type HistoryPage = z.output<typeof historyPageSchema>;

/** Address of a core node, and how long to wait for it. */
export interface CoreClientOptions {
  /** HTTP JSON-RPC URL. */
  url: string;
  timeoutMs?: number;
}

const headSchema = z.object({
  number: z.string().regex(/^0x[0-9a-f]+$/),
  timestampMs: timestampSchema,
});

const needsBackfillSchema = z.object({
  code: z.literal("NeedsBackfill"),
  missing: z.array(spanSchema),
});

/** The missing spans that a `NeedsBackfill` error names; undefined for any other error. */
export function missingSpansOf(thrown: unknown): z.output<typeof spanSchema>[] | undefined {
  if (!(thrown instanceof RpcError)) return undefined;
  const parsed = needsBackfillSchema.safeParse(thrown.data);
  return parsed.success ? parsed.data.missing : undefined;
}

/** Result of `core_getTheses`. */
export const thesesPageSchema = z.object({
  theses: z.array(thesisSchema),
  nextCursor: z.string().nullable(),
});

/**
 * Typed JSON-RPC client for a core node over HTTP. Every method throws {@link RpcError} with the
 * node's own code if it refuses, and {@link NodeTimeoutError} or {@link NodeUnreachableError} if no
 * answer came. An answer of the wrong shape is an {@link RpcError} too, never a `ZodError`.
 */
export class CoreClient {
  readonly url: string;
  readonly #timeoutMs: number;
  #lastId = 0;

  constructor(options: CoreClientOptions) {
    this.url = options.url;
    this.#timeoutMs = options.timeoutMs ?? NODE_TIMEOUT_MS;
  }

  /** Submits a signed transaction. Sending the same one again gives the same receipt. */
  sendTransaction(tx: Transaction): Promise<Receipt> {
    return this.#call("core_sendTransaction", [toWire(tx)], receiptSchema);
  }

  /** Submits a transaction from its stored JSON text, so that a repeat is the same transaction. */
  sendTransactionText(text: string): Promise<Receipt> {
    return this.#call("core_sendTransaction", [JSON.parse(text)], receiptSchema);
  }

  /** Whether the node accepts transactions: a read port does not. Nothing is submitted. */
  async takesTransactions(): Promise<boolean> {
    const answer = await this.#post("core_sendTransaction", []);
    try {
      parseResponse(answer);
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) throw thrown;
      return thrown.rpcCode !== RpcCode.methodNotFound;
    }
    return true;
  }

  /** The receipt that a transaction would get if it were submitted now. */
  simulateTransaction(tx: Transaction): Promise<Receipt> {
    return this.#call("core_simulateTransaction", [toWire(tx)], receiptSchema);
  }

  /** The receipt of a transaction, or null if the node does not know it. */
  getTransaction(txHash: Hex): Promise<Receipt | null> {
    return this.#call("core_getTransaction", [txHash], receiptSchema.nullable());
  }

  /** Balance, locked amount and permissions of an account. */
  getAccount(address: Address): Promise<Account> {
    return this.#call("core_getAccount", [address], accountSchema);
  }

  /** One thesis, or null. */
  getThesis(id: number): Promise<Thesis | null> {
    return this.#call("core_getThesis", [id], thesisSchema.nullable());
  }

  /** A page of theses, oldest first. */
  getTheses(filter: ThesisFilter): Promise<z.output<typeof thesesPageSchema>> {
    return this.#call("core_getTheses", [filter], thesesPageSchema);
  }

  /** Prices by symbol, each with its age and whether bets on it are accepted. */
  getPrices(): Promise<Record<string, NodePrice>> {
    return this.#call("core_getPrices", [], z.record(z.string(), nodePriceSchema));
  }

  /** The newest block: its number, and its time in Unix milliseconds. */
  async getHead(): Promise<{ number: number; timestampMs: number }> {
    const head = await this.#call("eth_getBlockByNumber", ["latest", false], headSchema);
    return { number: Number(head.number), timestampMs: head.timestampMs };
  }

  /** Hash of the first block, which identifies the chain; null if the node does not report it. */
  async genesisHash(): Promise<Hex | null> {
    try {
      const schema = z.object({ hash: hash32Schema }).nullable();
      return (await this.#call("eth_getBlockByNumber", ["0x0", false], schema))?.hash ?? null;
    } catch (thrown) {
      if (thrown instanceof RpcError && thrown.rpcCode === RpcCode.methodNotFound) return null;
      throw thrown;
    }
  }

  /** A page of recorded prices of a market, oldest first. */
  getPriceHistory(query: HistoryQuery): Promise<HistoryPage> {
    return this.#call("core_getPriceHistory", [query], historyPageSchema);
  }

  /** Attempts settlement. @throws {RpcError} -32010 if price history is missing. */
  settleThesis(id: number): Promise<Thesis> {
    return this.#call("core_settleThesis", [id], thesisSchema);
  }

  /** The chain id of the node: also a cheap check that it is up. */
  async chainId(): Promise<number> {
    return Number(await this.#call("eth_chainId", [], z.string().regex(/^0x[0-9a-f]+$/)));
  }

  async #call<S extends z.ZodType>(
    method: string,
    params: unknown[],
    schema: S,
  ): Promise<z.output<S>> {
    const { result } = parseResponse(await this.#post(method, params));
    const parsed = schema.safeParse(result);
    if (parsed.success) return parsed.data;
    throw new RpcError(-32603, `Answer of the node to ${method} has the wrong shape`, {
      cause: parsed.error,
    });
  }

  async #post(method: string, params: unknown[]): Promise<unknown> {
    const id = this.#lastId += 1;
    const timeoutMs = this.#timeoutMs;
    try {
      const { text } = await request(this.url, {
        json: { jsonrpc: "2.0", id, method, params },
        timeoutMs,
      });
      return JSON.parse(text);
    } catch (cause) {
      if (cause instanceof NetworkError && cause.code === "SERVICE_TIMEOUT") {
        throw new NodeTimeoutError(this.url, method, timeoutMs);
      }
      throw new NodeUnreachableError(this.url, cause);
    }
  }
}
