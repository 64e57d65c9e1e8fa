import * as z from "zod";
import { RpcCode, RpcError } from "../protocol/jsonrpc.ts";
import { spanSchema } from "../protocol/methods/reads.ts";
import { transactionMethods } from "../protocol/methods/transactions.ts";
import type { Receipt } from "../protocol/receipt.ts";
import { type Hex, quantitySchema, timestampSchema } from "../protocol/scalars.ts";
import { toWire } from "../json.ts";
import type { Thesis } from "../protocol/thesis.ts";
import type { Transaction } from "../protocol/transaction.ts";
import { CoreReader, requireReceiptOf } from "./core_reader.ts";

/** Only rangemaker's own node adds `timestampMs` to Ethereum's seconds. */
const headSchema = z.object({
  number: z.pipe(quantitySchema, z.pipe(z.transform(Number), z.int())),
  timestamp: quantitySchema,
  timestampMs: z.optional(timestampSchema),
});

const discoverySchema = z.object({ methods: z.array(z.object({ name: z.string() })) });

const needsBackfillSchema = z.object({
  code: z.literal("NeedsBackfill"),
  missing: z.array(spanSchema),
});

/** The missing spans listed by a `NeedsBackfill` error; undefined for any other error. */
export function missingSpansOf(thrown: unknown): z.output<typeof spanSchema>[] | undefined {
  if (!(thrown instanceof RpcError)) return undefined;
  const parsed = needsBackfillSchema.safeParse(thrown.data);
  return parsed.success ? parsed.data.missing : undefined;
}

/** A {@link CoreReader} that also sends transactions and settles theses. */
export class CoreClient extends CoreReader {
  /** Submits a signed transaction. Sending the same one again gives the same receipt. */
  sendTransaction(tx: Transaction): Promise<Receipt> {
    return this.call(transactionMethods, "core_sendTransaction", { transaction: toWire(tx) });
  }

  /** Submits a transaction from its stored JSON text, so that a repeat is the same transaction. */
  async sendTransactionText(text: string, txHash: Hex): Promise<Receipt> {
    const transaction = JSON.parse(text);
    const receipt = await this.call(transactionMethods, "core_sendTransaction", { transaction });
    return requireReceiptOf(txHash, receipt);
  }

  /** Whether the node accepts transactions: a read port does not. Nothing is submitted. */
  async acceptsTransactions(): Promise<boolean> {
    try {
      await this.ask("core_sendTransaction", [], z.unknown());
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) throw thrown;
      return thrown.rpcCode !== RpcCode.methodNotFound;
    }
    return true;
  }

  /** The receipt that a transaction's JSON text would get if it were submitted now. */
  async simulateTransactionText(text: string, txHash: Hex): Promise<Receipt> {
    const transaction = JSON.parse(text);
    const receipt = await this.call(transactionMethods, "core_simulateTransaction", {
      transaction,
    });
    return requireReceiptOf(txHash, receipt);
  }

  /** Whether anyone may revert the chain, as on a development chain in memory. */
  async allowsReverts(): Promise<boolean> {
    const { methods } = await this.ask("rpc.discover", [], discoverySchema);
    return methods.some(({ name }) => name === "core_revert");
  }

  /** The newest block: its number, and its time in Unix milliseconds, of some nodes in whole seconds. */
  async getHead(): Promise<{ number: number; timestampMs: number }> {
    const head = await this.ask("eth_getBlockByNumber", ["latest", false], headSchema);
    const { number, timestamp, timestampMs = Number(timestamp) * 1000 } = head;
    return { number, timestampMs };
  }

  /** Attempts settlement. @throws {RpcError} -32010 if price history is missing. */
  settleThesis(id: number): Promise<Thesis> {
    return this.call(transactionMethods, "core_settleThesis", { id });
  }
}
