/** A module of its own, so that the bundle has no more of viem's accounts than this. */
export { privateKeyToAccount } from "viem/accounts";
