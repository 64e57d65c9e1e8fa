import assert from "node:assert/strict";
import { webSocketUrlOf } from "../../lib/http/listener.ts";
import type { Permission } from "../../lib/protocol/account.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import {
  parseRequest,
  RpcCode,
  RpcError,
  rpcFailure,
  type RpcId,
  rpcResult,
} from "../../lib/protocol/jsonrpc.ts";
import type { Receipt, TransactionErrorCode } from "../../lib/protocol/receipt.ts";
import { addressSchema, hash32Schema, type Hex, toQuantity } from "../../lib/protocol/scalars.ts";
import { recoverSigner } from "../../lib/protocol/signature.ts";
import {
  hashTransaction,
  type Transaction,
  transactionSchema,
} from "../../lib/protocol/transaction.ts";
import { FakeFeed } from "./fake_feed.ts";
import { onFreePort } from "./ports.ts";

/** Thrown by a {@link SendBehaviour} to let the caller see an answer that broke off. */
export class ConnectionLost extends Error {}

/** How the node treats a transaction: `apply` records it and returns its receipt. */
export type SendBehaviour = (apply: () => Receipt, tx: Transaction) => Promise<Receipt> | Receipt;

/**
 * A core node over real HTTP with only what solver and bridge need: receipts by hash, one
 * deposit per external hash, one thesis per quote. What it does with a transaction can be replaced.
 */
export class FakeNode implements AsyncDisposable {
  /** What happens at `core_sendTransaction`. */
  behaviour: SendBehaviour = (apply) => apply();
  priceState: "fresh" | "stale" = "fresh";
  /** The node answers every call as if it had paused. */
  paused = false;
  /** The error code with which it refuses every call, if any. */
  refusesAllWith: number | undefined;
  /** The node has died: every answer breaks off until it is up again. */
  down = false;
  /** Error of the rules for the next transactions. */
  refusal: TransactionErrorCode | undefined;
  /** What the node lets every account do. */
  permissions: Permission[] = ["relayer"];
  /** Transactions older than this are rejected, in milliseconds. */
  timestampToleranceMs = 60_000;
  genesis: Hex = `0x${"6e".repeat(32)}`;
  blockNumber = 1;
  /** How far its clock is ahead. */
  aheadMs = 0;
  /**
   * Answers of methods that this node does not have by itself, by name; they get the first
   * parameter.
   */
  readonly methods = new Map<string, (param: unknown) => unknown>();
  /** Its WebSocket side. */
  readonly feed = new FakeFeed();
  readonly credited = new Map<string, bigint>();
  /** Every transaction text that arrived, in order. */
  readonly received: string[] = [];
  readonly calls = new Map<string, number>();
  readonly #receipts = new Map<Hex, Receipt>();
  readonly #used = new Set<string>();
  readonly #waiting: (() => void)[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #chainId: number;

  private constructor(chainId: number, port: number) {
    this.#chainId = chainId;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port, onListen: () => {} },
      (request) => this.#serve(request),
    );
  }

  /** Starts a node on the given port, by default a free one. */
  static start(chainId = 1337, port?: number): FakeNode {
    return port === undefined
      ? onFreePort((free) => new FakeNode(chainId, free))
      : new FakeNode(chainId, port);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  get committed(): Receipt[] {
    return [...this.#receipts.values()].filter((receipt) => receipt.status === "committed");
  }

  /** The node is restored from a backup without any transaction. */
  rewind(): void {
    this.#receipts.clear();
    this.#used.clear();
    this.credited.clear();
  }

  nextTransaction(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  get wsUrl(): string {
    return webSocketUrlOf(this.url);
  }

  async stop(): Promise<void> {
    await this.feed.disconnect();
    await this.#server.shutdown();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #serve(request: Request): Promise<Response> {
    const upgraded = this.feed.accept(request);
    if (upgraded !== undefined) return upgraded;
    const body = await request.text();
    const { id = null, method, params } = parseRequest(JSON.parse(body));
    try {
      const first = Array.isArray(params) ? params[0] : undefined;
      return Response.json(rpcResult(id, await this.#call(method, first)));
    } catch (thrown) {
      return answerOf(id, thrown);
    }
  }

  /**
   * From now on, each transaction is lost on its way, without an answer.
   *
   * @param state Of the node from the first one on.
   */
  loseTransactions(state: { down?: true; paused?: true } = {}): void {
    this.behaviour = () => {
      Object.assign(this, state);
      throw new ConnectionLost("Node is away");
    };
  }

  async #call(method: string, param: unknown): Promise<unknown> {
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    if (this.down) throw new ConnectionLost("Node is down");
    if (this.paused) throw new RpcError(RpcCode.resourceUnavailable, "Node has paused");
    if (this.refusesAllWith !== undefined) {
      throw new RpcError(this.refusesAllWith, "Refused by the test");
    }
    if (method === "core_sendTransaction") return await this.#send(param);
    if (method === "core_simulateTransaction") return this.#simulate(param);
    if (method === "core_getTransaction") {
      return this.#receipts.get(hash32Schema.parse(param)) ?? null;
    }
    if (method === "eth_chainId") return `0x${this.#chainId.toString(16)}`;
    if (method === "eth_getBlockByNumber" && param === "0x0") return { hash: this.genesis };
    if (method === "eth_getBlockByNumber" && !this.methods.has(method)) {
      const timestampMs = Date.now() + this.aheadMs;
      return {
        number: toQuantity(this.blockNumber),
        timestamp: toQuantity(Math.floor(timestampMs / 1000)),
        timestampMs,
      };
    }
    if (method === "core_getPrices") return this.#prices();
    if (method === "core_getAccount") {
      const address = addressSchema.parse(param);
      const balance = (this.credited.get(address) ?? 0n).toString();
      return { address, balance, locked: "0", permissions: this.permissions };
    }
    const answer = this.methods.get(method);
    if (answer !== undefined) return await answer(param);
    throw new RpcError(RpcCode.methodNotFound, `No method ${method}`);
  }

  #simulate(param: unknown): Receipt {
    const tx = transactionSchema.parse(param);
    assert(tx.type === "Deposit", "Other transactions are not simulated");
    this.#requireRecent(tx);
    const receipt = { txHash: hashTransaction(tx, this.#chainId), blockNumber: 1 };
    const isUsed = this.#used.has(tx.externalTxHash);
    const code = this.refusal ?? (isUsed ? "DEPOSIT_ALREADY_PROCESSED" : undefined);
    if (code === undefined) return { ...receipt, status: "committed" };
    const error = { code, message: "Used before, or refused by the test" };
    return { ...receipt, status: "failed", error };
  }

  async #send(param: unknown): Promise<Receipt> {
    const { data: tx } = transactionSchema.safeParse(param);
    if (tx === undefined) throw new RpcError(RpcCode.invalidParams, "Not a transaction");
    this.received.push(JSON.stringify(param));
    for (const wake of this.#waiting.splice(0)) wake();
    return await this.behaviour(() => this.#apply(tx), tx);
  }

  #apply(tx: Transaction): Receipt {
    const txHash = hashTransaction(tx, this.#chainId);
    const earlier = this.#receipts.get(txHash);
    if (earlier !== undefined) return earlier;
    if (recoverSigner(txHash, tx.signature) !== tx.from) {
      throw new RpcError(RpcCode.transactionRejected, "Signature is not by the sender");
    }
    this.#requireRecent(tx);
    const receipt = this.#receiptOf(tx, txHash);
    this.#receipts.set(txHash, receipt);
    return receipt;
  }

  #requireRecent({ timestamp }: Transaction): void {
    if (Math.abs(Date.now() + this.aheadMs - timestamp) <= this.timestampToleranceMs) return;
    throw new RpcError(RpcCode.transactionRejected, "Timestamp is too far from now");
  }

  #receiptOf(tx: Transaction, txHash: Hex): Receipt {
    const blockNumber = this.#receipts.size + 1;
    const failed = (code: TransactionErrorCode, message: string): Receipt => ({
      txHash,
      status: "failed",
      blockNumber,
      error: { code, message },
    });
    if (this.refusal !== undefined) {
      return failed(this.refusal, "Refused by the test: do as it says");
    }
    if (tx.type === "Deposit") {
      if (this.#used.has(tx.externalTxHash)) {
        return failed("DEPOSIT_ALREADY_PROCESSED", "External hash was used before");
      }
      this.#used.add(tx.externalTxHash);
      this.credited.set(tx.user, (this.credited.get(tx.user) ?? 0n) + tx.amount);
      return { txHash, status: "committed", blockNumber };
    }
    if (tx.type === "RfqSubmit") {
      if (this.#used.has(tx.solverSignature)) {
        return failed("QUOTE_ALREADY_USED", "Quote was used before");
      }
      this.#used.add(tx.solverSignature);
    }
    return { txHash, status: "committed", blockNumber, thesisId: blockNumber };
  }

  #prices() {
    const price = { price: "60000000000", decimals: 6, lastUpdate: Date.now(), ageMs: 5 };
    return Object.fromEntries(
      MARKETS.map(({ symbol, base, quote }) => [
        symbol,
        { base, quote, ...price, state: this.priceState },
      ]),
    );
  }
}

function answerOf(id: RpcId, thrown: unknown): Response {
  if (thrown instanceof RpcError) {
    return Response.json(rpcFailure(id, thrown.rpcCode, thrown.message));
  }
  if (thrown instanceof ConnectionLost) return new Response('{"jsonrpc": "2.0", "id');
  throw thrown;
}

/** A behaviour, and the outcome of a transaction that is sent again after it. */
export interface NodeBehaviour {
  name: string;
  set(node: FakeNode): void;
  /** Whether the transaction is committed in the end. */
  commits: boolean;
}

export const HEALTHY: NodeBehaviour = { name: "healthy", set: () => {}, commits: true };

const SLOW_MS = 100;

/** A node that does this with a transaction, which is committed in the end. */
function behaving(name: string, behaviourOf: (node: FakeNode) => SendBehaviour): NodeBehaviour {
  return { name, set: (node) => node.behaviour = behaviourOf(node), commits: true };
}

export const FAULTY: readonly NodeBehaviour[] = [
  behaving("slow", () => async (apply) => {
    await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    return apply();
  }),
  behaving("answering twice", () => (apply) => {
    apply();
    return apply();
  }),
  behaving("answering and dying", (node) => (apply) => {
    apply();
    node.down = true;
    throw new ConnectionLost("Node died");
  }),
  { name: "away", set: (node) => node.loseTransactions(), commits: true },
  {
    name: "refusing by its rules",
    set: (node) => node.refusal = "PERMISSION_DENIED",
    commits: false,
  },
  { name: "rejecting", set: (node) => node.timestampToleranceMs = -1, commits: false },
];

/** The node is up and answers; its rules still refuse the same transactions. */
export function makeHealthy(node: FakeNode): void {
  node.down = false;
  node.behaviour = (apply) => apply();
}
