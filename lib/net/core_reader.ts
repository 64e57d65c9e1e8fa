import * as z from "zod/mini";
import { tryParseJson } from "../json.ts";
import type { Account } from "../protocol/account.ts";
import { RpcCode, RpcError, tryParseResponse } from "../protocol/jsonrpc.ts";
import type { MethodTable, ParamsWire } from "../protocol/methods/definition.ts";
import { type HistoryPage, readMethods, type ThesesPage } from "../protocol/methods/reads.ts";
import type { NodePrice } from "../protocol/price.ts";
import { type Receipt, receiptSchema } from "../protocol/receipt.ts";
import { type Address, hash32Schema, type Hex, quantitySchema } from "../protocol/scalars.ts";
import type { Thesis, ThesisStatus } from "../protocol/thesis.ts";
import { redactUrls } from "../redact.ts";
import {
  ERROR_TEXT_MAX,
  gatewayReason,
  NetworkError,
  request,
  unreachableReason,
} from "./http_request.ts";

/**
 * How long an answer of the node is cached on routes without a rate limit, such as health checks:
 * it bounds the load on the node, and how long callers may see a node that is unreachable.
 */
export const NODE_ANSWER_CACHED_MS = 1_000;

const DEFAULT_TIMEOUT_MS = 5_000;

/** The node could not be reached, or its answer was lost: whether it acted is unknown. */
export class NodeUnreachableError extends NetworkError {
  constructor(url: string, cause: unknown) {
    const reason = unreachableReason(url, cause);
    super("NODE_UNREACHABLE", `Core node at ${url} cannot be reached: ${reason}`, cause, "later");
  }
}

/** The node took too long: whether it acted is unknown. */
export class NodeTimeoutError extends NetworkError {
  constructor(url: string, method: string, timeoutMs: number) {
    const message = `Core node at ${url} did not answer ${method} within ${timeoutMs} ms`;
    super("NODE_TIMEOUT", message, undefined, "later");
  }
}

/** Whether a call got no answer from the node. */
export function isNodeAway(thrown: unknown): thrown is NodeUnreachableError | NodeTimeoutError {
  return thrown instanceof NodeUnreachableError || thrown instanceof NodeTimeoutError;
}

/** Narrows `core_getTheses`. */
export interface ThesisFilter {
  user?: Address;
  solver?: Address;
  status?: ThesisStatus;
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

/** Address of a core node, and how long to wait for it. */
interface CoreReaderOptions {
  /** HTTP JSON-RPC URL. */
  url: string;
  timeoutMs?: number;
}

const genesisSchema = z.object({ hash: hash32Schema });

/**
 * Reads a core node by JSON-RPC over HTTP. Every method throws {@link RpcError} with the node's own
 * code if it refuses, and {@link NodeTimeoutError} or {@link NodeUnreachableError} if no answer
 * came. An answer of the wrong shape is an {@link RpcError} too, never a `ZodError`.
 */
export class CoreReader {
  readonly url: string;
  readonly #timeoutMs: number;
  #lastId = 0;

  constructor(options: CoreReaderOptions) {
    this.url = options.url;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  /** Balance, locked amount and permissions of an account. */
  getAccount(address: Address): Promise<Account> {
    return this.call(readMethods, "core_getAccount", { address });
  }

  getThesis(id: number): Promise<Thesis | null> {
    return this.call(readMethods, "core_getThesis", { id });
  }

  /** A page of theses, oldest first. */
  getTheses(filter: ThesisFilter): Promise<ThesesPage> {
    return this.call(readMethods, "core_getTheses", { filter });
  }

  /** The receipt of a transaction, or null if the node does not know it. */
  async getTransaction(hash: Hex): Promise<Receipt | null> {
    const receipt = await this.ask("core_getTransaction", [hash], z.nullable(receiptSchema));
    return receipt && requireReceiptOf(hash, receipt);
  }

  /** Prices by symbol, each with its age and whether bets on it are accepted. */
  getPrices(): Promise<Record<string, NodePrice>> {
    return this.call(readMethods, "core_getPrices", {});
  }

  /** A page of recorded prices of a market, oldest first. */
  getPriceHistory(query: HistoryQuery): Promise<HistoryPage> {
    return this.call(readMethods, "core_getPriceHistory", { query });
  }

  /** Bounds of new theses; a node that reports none has none. */
  async getLimits(): Promise<{ minBetAmount: bigint; maxStartAheadMs: number }> {
    return (await nullIfUnsupported(this.call(readMethods, "core_getLimits", {}))) ??
      { minBetAmount: 0n, maxStartAheadMs: Infinity };
  }

  /** Hash of the first block, which identifies the chain. */
  async getGenesisHash(): Promise<Hex> {
    return (await this.ask("eth_getBlockByNumber", ["0x0", false], genesisSchema)).hash;
  }

  /** The chain id of the node: also a cheap check that it is up. */
  async getChainId(): Promise<number> {
    return Number(await this.ask("eth_chainId", [], quantitySchema));
  }

  /** Calls a method of a table. @param params By name. */
  protected call<T extends MethodTable, N extends keyof T & string>(
    table: T,
    name: N,
    params: ParamsWire<T[N]>,
  ): Promise<z.output<T[N]["result"]>> {
    const method: T[N] = table[name];
    const names = Object.keys(method.params?._zod.def.shape ?? {});
    const byName: Record<string, unknown> = params;
    return this.ask<T[N]["result"]>(name, names.map((name) => byName[name]), method.result);
  }

  /** Calls a method whose answer has to fit a schema. @param params In their order. */
  protected async ask<S extends z.core.$ZodType>(
    method: string,
    params: unknown[],
    schema: S,
  ): Promise<z.output<S>> {
    const { status, text } = await this.#post(method, params);
    const value = tryParseJson(text);
    const answer = tryParseResponse(value);
    if (answer === undefined) {
      const gateway = gatewayReason(status);
      if (value === undefined || gateway !== undefined) {
        throw new NodeUnreachableError(this.url, new Error(gateway ?? "its answer is not JSON"));
      }
      const message = `Not a node or proxy: ${this.url} answered ${status}: ` +
        text.slice(0, ERROR_TEXT_MAX);
      throw new RpcError(RpcCode.internalError, redactUrls(message));
    }
    const parsed = z.safeParse(schema, answer.result);
    if (parsed.success) return parsed.data;
    throw new RpcError(
      RpcCode.internalError,
      `Answer of the node to ${method} has the wrong shape`,
      {
        cause: parsed.error,
      },
    );
  }

  /** Sends a call. @returns The answer as it came. */
  async #post(method: string, params: unknown[]): Promise<{ status: number; text: string }> {
    const id = this.#lastId += 1;
    const timeoutMs = this.#timeoutMs;
    try {
      return await request(this.url, { json: { jsonrpc: "2.0", id, method, params }, timeoutMs });
    } catch (cause) {
      if (cause instanceof NetworkError && cause.code === "SERVICE_TIMEOUT") {
        throw new NodeTimeoutError(this.url, method, timeoutMs);
      }
      throw new NodeUnreachableError(this.url, cause);
    }
  }
}

/**
 * Requires that the node answered about the transaction that it was asked for: another one's receipt
 * says nothing about it.
 */
export function requireReceiptOf(txHash: Hex, receipt: Receipt): Receipt {
  if (receipt.txHash === txHash) return receipt;
  throw new RpcError(
    RpcCode.internalError,
    `The node answered with the receipt of ${receipt.txHash}: expected that of ${txHash}`,
  );
}

/** The answer to a call, or null if the node does not have the method. */
export async function nullIfUnsupported<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (thrown) {
    if (thrown instanceof RpcError && thrown.rpcCode === RpcCode.methodNotFound) return null;
    throw thrown;
  }
}

interface Page {
  /** `cursor` of the request for the next page; null on the last one. */
  nextCursor: string | null;
}

/**
 * Reads page after page, from the first to the last.
 *
 * @param read Reads the page that begins at a cursor; undefined stands for the first page.
 * @param pagesMax Stops after this many pages, even if more follow.
 */
export async function* readPages<P extends Page>(
  read: (cursor: string | undefined) => Promise<P>,
  pagesMax: number = Infinity,
): AsyncGenerator<P, void> {
  let cursor: string | undefined;
  for (let count = 0; count < pagesMax; count++) {
    const page = await read(cursor);
    yield page;
    if (page.nextCursor === null) return;
    cursor = page.nextCursor;
  }
}
