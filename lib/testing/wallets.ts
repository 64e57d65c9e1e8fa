import { keccak256, toHex } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import type { Hex } from "../protocol/scalars.ts";

/** An account of viem with its key, for wallets of other libraries. */
export type TestWallet = PrivateKeyAccount & { readonly privateKey: Hex };

/** A wallet with a key that is the same in every run, and so are its address and signatures. */
export function testWallet(index: number): TestWallet {
  const privateKey = keccak256(toHex(`rangemaker test wallet ${index}`));
  return { ...privateKeyToAccount(privateKey), privateKey };
}
