import type { Hex } from "../../../lib/protocol/scalars.ts";
import { requireSigner, type Signer } from "../../../lib/protocol/signature.ts";

/**
 * Signatures that are remembered: 6 MB at about 300 bytes each, and the quotes of twenty seconds at
 * the rate that all callers together may ask at by default.
 */
export const REMEMBERED_MAX = 20_000;

/**
 * Signs quotes and knows them again. Most executions follow their quote at once, and to look up its
 * signature costs nothing, where to recover the signer is a fifth of the work of an execution. What
 * is accepted is the same: a signature that is not remembered, such as one of an earlier run or of
 * another solver with the same key, is recovered as strictly as the user's.
 */
export class QuoteSigner {
  readonly #signer: Pick<Signer, "address" | "sign">;
  readonly #rememberedMax: number;
  /** By quote hash, oldest first. */
  readonly #remembered = new Map<Hex, Hex>();

  /** @param rememberedMax Signatures that are remembered; beyond it the oldest is forgotten. */
  constructor(
    signer: Pick<Signer, "address" | "sign">,
    rememberedMax: number = REMEMBERED_MAX,
  ) {
    this.#signer = signer;
    this.#rememberedMax = rememberedMax;
  }

  /** Signs a quote hash. */
  sign(quoteHash: Hex): Hex {
    const signature = this.#signer.sign(quoteHash);
    this.#remembered.set(quoteHash, signature);
    if (this.#remembered.size > this.#rememberedMax) {
      const [oldest] = this.#remembered.keys();
      if (oldest !== undefined) this.#remembered.delete(oldest);
    }
    return signature;
  }

  /**
   * Checks that this solver's key made the signature of a quote.
   *
   * @throws {SignatureError} If it did not.
   */
  require(quoteHash: Hex, signature: Hex): void {
    if (this.#remembered.get(quoteHash) === signature) return;
    requireSigner("Quote signature", quoteHash, signature, this.#signer.address);
  }
}
