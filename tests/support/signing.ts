import type { Hex } from "../../lib/protocol/scalars.ts";
import type { LocalSigner } from "../../lib/protocol/signature.ts";
import { hashTransaction, type UnsignedTransaction } from "../../lib/protocol/transaction.ts";

/** Signs a transaction at once. @returns The signed transaction and its hash. */
export function signTransaction<T extends UnsignedTransaction>(
  tx: T,
  signer: LocalSigner,
  chainId: number,
): { tx: T & { signature: Hex }; txHash: Hex } {
  const txHash = hashTransaction(tx, chainId);
  return { tx: { ...tx, signature: signer.sign(txHash) }, txHash };
}
