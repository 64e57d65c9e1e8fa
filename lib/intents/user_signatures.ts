import type { Clock } from "../clock.ts";
import type { Address, Hex } from "../protocol/scalars.ts";
import { isSignedBy, requireSigner, SignatureError } from "../protocol/signature.ts";
import { RateWindow } from "../rate_window.ts";

/** Ids that front ends sign for by mistake: Ethereum, its test network, Geth, Anvil, Hardhat. */
const KNOWN_CHAIN_IDS = [1, 11_155_111, 1_337, 31_337];

/**
 * How many wrong signatures are compared with other chains. It takes four times as long as the check
 * itself, and anybody can send wrong ones.
 */
const COMPARED = { count: 20, windowMs: 1_000 };

/**
 * Creates the check that a user made a signature for this chain, and not for another by mistake.
 *
 * @throws {SignatureError} As {@link requireSigner} does; `WRONG_CHAIN`, with both ids, if it is for
 *   another well-known chain, unless there are too many wrong ones to find that out.
 */
export function createUserSignatureCheck(chainId: number, clock: Pick<Clock, "now">) {
  const compared = new RateWindow(COMPARED);
  /** @param digestFor The digest that is signed on a chain. */
  return (what: string, digestFor: (chainId: number) => Hex, signature: Hex, expected: Address) => {
    try {
      requireSigner(what, digestFor(chainId), signature, expected);
    } catch (thrown) {
      if (!compared.tryAdd(clock.now())) throw thrown;
      const actual = KNOWN_CHAIN_IDS.find((id) => isSignedBy(expected, digestFor(id), signature));
      if (actual === undefined) throw thrown;
      const message =
        `${what} is for chain ${actual}: expected chain ${chainId}; GET /typed-data ` +
        "describes what to sign";
      const details = { expected: chainId, actual };
      throw new SignatureError(message, details, thrown, "WRONG_CHAIN");
    }
  };
}
