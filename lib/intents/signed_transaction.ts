import type { Clock } from "../clock.ts";
import type { Signer } from "../protocol/signature.ts";
import {
  type Deposit,
  hashTransaction,
  type RfqSubmit,
  signTransaction,
  type Transaction,
  transactionSchema,
  transactionToText,
} from "../protocol/transaction.ts";
import type { SignedTransactionText } from "./intent.ts";

type Unsigned<T extends Transaction> = Omit<T, "timestamp" | "from" | "signature">;

/** What a transaction does, without when and by whom. */
export type TransactionTerms = Unsigned<Deposit> | Unsigned<RfqSubmit>;

/** Signs the transactions of a service, and checks those that it signed before. */
export class TransactionSigner {
  readonly #signer: Signer;
  readonly #chainId: number;
  readonly #clock: Clock;

  constructor(signer: Signer, chainId: number, clock: Clock) {
    this.#signer = signer;
    this.#chainId = chainId;
    this.#clock = clock;
  }

  /** Signs a transaction with the present time. */
  sign(terms: TransactionTerms): SignedTransactionText {
    const { tx, txHash } = this.#signAt(terms, this.#clock.now());
    return { txHash, text: transactionToText(tx) };
  }

  /**
   * Checks that a stored transaction is exactly what this service signs for these terms. Only the time
   * may be any, and signing is deterministic, so the signature must be the same too.
   *
   * @throws {TypeError} If it is not.
   */
  require(terms: TransactionTerms, { txHash, text }: SignedTransactionText): void {
    const stored = transactionSchema.parse(JSON.parse(text));
    const expected = this.#signAt(terms, stored.timestamp);
    const isSame = txHash === expected.txHash && stored.signature === expected.tx.signature &&
      hashTransaction(stored, this.#chainId) === txHash;
    if (!isSame) throw new TypeError("its transaction is not the one that was signed");
  }

  #signAt(terms: TransactionTerms, timestamp: number) {
    const unsigned = { ...terms, timestamp, from: this.#signer.address };
    return signTransaction(unsigned, this.#signer, this.#chainId);
  }
}
