import type { Clock } from "../clock.ts";
import { isSignedBy } from "../protocol/signature.ts";
import {
  type Deposit,
  hashTransaction,
  type RfqSubmit,
  signTransactionBy,
  type Transaction,
  transactionSchema,
  type TransactionSigner,
  transactionToText,
} from "../protocol/transaction.ts";
import type { SignedTransactionText } from "./intent.ts";

type Unsigned<T extends Transaction> = Omit<T, "timestamp" | "from" | "signature">;

/** A transaction without its time, sender and signature. */
export type TransactionTerms = Unsigned<Deposit> | Unsigned<RfqSubmit>;

/** When a transaction was signed, Unix milliseconds. */
export function timestampOf(text: string): number {
  return transactionSchema.parse(JSON.parse(text)).timestamp;
}

/** Signs the transactions of a service, and checks transactions that it signed before. */
export class TransactionBuilder {
  readonly #signer: TransactionSigner;
  readonly #chainId: number;
  readonly #clock: Clock;

  constructor(signer: TransactionSigner, chainId: number, clock: Clock) {
    this.#signer = signer;
    this.#chainId = chainId;
    this.#clock = clock;
  }

  /** Signs a transaction with the present time. */
  async sign(terms: TransactionTerms): Promise<SignedTransactionText> {
    const unsigned = { ...terms, timestamp: this.#clock.now(), from: this.#signer.address };
    const { tx, txHash } = await signTransactionBy(unsigned, this.#signer, this.#chainId);
    return { txHash, text: transactionToText(tx) };
  }

  /**
   * Checks that a stored transaction is one that this service signed for these terms. Only the
   * timestamp may differ, and the relayer of a deposit: the bridge may have had another key then,
   * or another bridge on the same database has it.
   *
   * @throws {TypeError} If it is not.
   */
  requireOwn(terms: TransactionTerms, { txHash, text }: SignedTransactionText): void {
    const stored = transactionSchema.parse(JSON.parse(text));
    const from = stored.type === "Deposit" ? stored.from : this.#signer.address;
    const expected = { ...terms, timestamp: stored.timestamp, from };
    const isSame = hashTransaction(stored, this.#chainId) === txHash &&
      hashTransaction(expected, this.#chainId) === txHash &&
      isSignedBy(from, txHash, stored.signature);
    if (!isSame) throw new TypeError("its transaction differs from the signed one");
  }
}
