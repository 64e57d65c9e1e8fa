import { NewestMap } from "../../../lib/newest_map.ts";
import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import { type LocalSigner, requireSigner } from "../../../lib/protocol/signature.ts";

/** Quotes in the cache: about 8 MB, or 20 s of quotes at the default `--rate-limit-total`. */
const CACHED_MAX = 20_000;

/**
 * Signs quotes and verifies them later. Most executions follow their quote at once, and recovering
 * the signer is a fifth of the work of an execution, so the newest signatures are cached. The signer
 * of any other signature (of an earlier run, or of another solver with the same key) is recovered,
 * with the same result.
 */
export class QuoteSigner {
  readonly #signer: Pick<LocalSigner, "address" | "sign">;
  /** Signatures by quote hash. */
  readonly #cached = new NewestMap<Hex, Hex>(CACHED_MAX);

  constructor(signer: Pick<LocalSigner, "address" | "sign">) {
    this.#signer = signer;
  }

  /** The solver's account. */
  get address(): Address {
    return this.#signer.address;
  }

  sign(quoteHash: Hex): Hex {
    const signature = this.#signer.sign(quoteHash);
    this.#cached.set(quoteHash, signature);
    return signature;
  }

  /**
   * Checks that this solver's key made the signature of a quote.
   *
   * @throws {SignatureError} If it did not.
   */
  requireOwn(quoteHash: Hex, signature: Hex): void {
    if (this.#cached.get(quoteHash) === signature) return;
    requireSigner("Quote signature", quoteHash, signature, this.#signer.address);
  }
}
