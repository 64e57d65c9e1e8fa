import { hashQuote } from "../../../lib/protocol/hashes.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { requireSigner, SignatureError } from "../../../lib/protocol/signature.ts";
import { quoteOf, type RfqSubmit, type Transaction } from "../../../lib/protocol/transaction.ts";
import type { Refusal } from "./refusals.ts";

/** A transaction that was signed by its sender. */
export interface VerifiedTransaction {
  tx: Transaction;
  txHash: Hex;
  /** Only for an `RfqSubmit`. */
  quoteHash?: Hex;
  /** Set if a signature inside an `RfqSubmit` has the wrong signer: the transaction fails. */
  refusal?: Refusal;
}

/** Checks the signatures inside a transaction that was signed by its sender. */
export function verifyEmbeddedSignatures(
  tx: Transaction,
  txHash: Hex,
  chainId: number,
): VerifiedTransaction {
  if (tx.type !== "RfqSubmit") return { tx, txHash };
  const quoteHash = hashQuote(quoteOf(tx), chainId);
  return { tx, txHash, quoteHash, refusal: quoteSignatureRefusal(tx, quoteHash) };
}

function quoteSignatureRefusal(tx: RfqSubmit, quoteHash: Hex): Refusal | undefined {
  try {
    requireSigner("Solver signature", quoteHash, tx.solverSignature, tx.from);
  } catch (thrown) {
    return signatureRefusal("QUOTE_SIGNER_MISMATCH", thrown);
  }
  try {
    requireSigner("User signature", quoteHash, tx.userSignature, tx.user);
  } catch (thrown) {
    return signatureRefusal("USER_SIGNATURE_INVALID", thrown);
  }
}

function signatureRefusal(code: Refusal["code"], thrown: unknown): Refusal {
  if (!(thrown instanceof SignatureError)) throw thrown;
  return { code, message: thrown.message, details: thrown.details };
}
