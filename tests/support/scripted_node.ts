import { NodeUnreachableError } from "../../lib/net/core_reader.ts";
import { RpcCode, RpcError } from "../../lib/protocol/jsonrpc.ts";
import type { Receipt } from "../../lib/protocol/receipt.ts";
import type { Hex } from "../../lib/protocol/scalars.ts";
import {
  hashTransaction,
  type Transaction,
  transactionSchema,
} from "../../lib/protocol/transaction.ts";

/** First block of the chain, unless a test changes it. */
export const GENESIS: Hex = `0x${"01".repeat(32)}`;

/** A node for submitting, in memory, with the test's answers. It commits what it gets by default. */
export class ScriptedNode {
  readonly url = "http://user:secret@node";
  genesis: Hex = GENESIS;
  id = 1337;
  head = { number: 1_000, timestampMs: 0 };
  areRevertsAllowed = false;
  /** What a question for the first block fails with. */
  genesisError: Error | undefined;
  readonly sent: Transaction[] = [];
  /** What it has committed, by transaction hash. */
  readonly receipts = new Map<Hex, Receipt>();
  /** Questions that it got. */
  readonly asked = { genesis: 0, head: 0, receipt: 0 };
  onSend: (tx: Transaction) => Promise<Receipt> | Receipt = (tx) => this.commit(tx);
  onLookup: (txHash: Hex) => Promise<Receipt | null> | Receipt | null = (txHash) =>
    this.receipts.get(txHash) ?? null;

  commit(tx: Transaction): Receipt {
    return this.addReceipt(hashTransaction(tx, 1337), tx.type === "RfqSubmit" ? 1 : undefined);
  }

  addReceipt(txHash: Hex, thesisId?: number): Receipt {
    const { number: blockNumber } = this.head;
    const thesis = thesisId === undefined ? {} : { thesisId };
    const receipt: Receipt = { txHash, status: "committed", blockNumber, ...thesis };
    this.receipts.set(txHash, receipt);
    return receipt;
  }

  /** Commits a transaction, but its answer is lost. */
  readonly commitUnanswered = (tx: Transaction, error: Error = UNREACHABLE): Promise<never> => {
    this.commit(tx);
    return Promise.reject(error);
  };

  async sendTransactionText(text: string): Promise<Receipt> {
    const tx = transactionSchema.parse(JSON.parse(text));
    this.sent.push(tx);
    return await this.onSend(tx);
  }

  async getTransaction(txHash: Hex): Promise<Receipt | null> {
    this.asked.receipt += 1;
    return await this.onLookup(txHash);
  }

  /** Refuses every transaction that it is only asked about. */
  simulateTransactionText(): Promise<Receipt> {
    return Promise.reject(new RpcError(RpcCode.transactionRejected, "Refused"));
  }

  getChainId(): Promise<number> {
    return Promise.resolve(this.id);
  }

  getGenesisHash(): Promise<Hex> {
    this.asked.genesis += 1;
    if (this.genesisError !== undefined) return Promise.reject(this.genesisError);
    return Promise.resolve(this.genesis);
  }

  getHead() {
    this.asked.head += 1;
    return Promise.resolve(this.head);
  }

  allowsReverts(): Promise<boolean> {
    return Promise.resolve(this.areRevertsAllowed);
  }
}

export function rejectsWith(error: Error): () => Promise<never> {
  return () => Promise.reject(error);
}

const UNREACHABLE = new NodeUnreachableError("http://node", "test");

/** The answer of a node that cannot be reached. */
export const rejectsAsAway = rejectsWith(UNREACHABLE);
