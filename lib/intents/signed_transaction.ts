import type { Clock } from "../clock.ts";
import { isSignedBy } from "../protocol/signature.ts";
import {
  type Deposit,
  hashTransaction,
  type RfqSubmit,
  signTransactionBy,
  type Transaction,
  type TransactionKey,
  transactionSchema,
  transactionToText,
} from "../protocol/transaction.ts";
import type { SignedTransactionText } from "./intent.ts";

type Unsigned<T extends Transaction> = Omit<T, "timestamp" | "from" | "signature">;

/** What a transaction does, without when and by whom. */
export type TransactionTerms = Unsigned<Deposit> | Unsigned<RfqSubmit>;

/** When a transaction was signed, Unix milliseconds. */
export function timestampOf(text: string): number {
  return transactionSchema.parse(JSON.parse(text)).timestamp;
}

/** Signs the transactions of a service, and checks those that it signed before. */
export class TransactionSigner {
  readonly #key: TransactionKey;
  readonly #chainId: number;
  readonly #clock: Clock;

  constructor(key: TransactionKey, chainId: number, clock: Clock) {
    this.#key = key;
    this.#chainId = chainId;
    this.#clock = clock;
  }

  /** Signs a transaction with the present time. */
  async sign(terms: TransactionTerms): Promise<SignedTransactionText> {
    const unsigned = { ...terms, timestamp: this.#clock.now(), from: this.#key.address };
    const { tx, txHash } = await signTransactionBy(unsigned, this.#key, this.#chainId);
    return { txHash, text: transactionToText(tx) };
  }

  /**
   * Checks that a stored transaction is one that this service signed for these terms. Only the time may
   * be any.
   *
   * @throws {TypeError} If it is not.
   */
  require(terms: TransactionTerms, { txHash, text }: SignedTransactionText): void {
    const stored = transactionSchema.parse(JSON.parse(text));
    const { address } = this.#key;
    const expected = { ...terms, timestamp: stored.timestamp, from: address };
    const isSame = hashTransaction(stored, this.#chainId) === txHash &&
      hashTransaction(expected, this.#chainId) === txHash &&
      isSignedBy(address, txHash, stored.signature);
    if (!isSame) throw new TypeError("its transaction is not the one that was signed");
  }
}
