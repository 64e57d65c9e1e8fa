/**
 * A chain of its own for each test: the stack on free ports of this machine, in a child process. It
 * runs in Node from version 20 on, Bun and Deno.
 *
 * @example
 * ```ts
 * import { RangemakerClient } from "@rangemaker/client";
 * import { startChain } from "@rangemaker/testing";
 *
 * await using chain = await startChain();
 * const client = new RangemakerClient({ ...chain.options, wallet: chain.wallets[0] });
 * await chain.setPrice("ETH/USDT", 3_000_000_000n);
 * ```
 *
 * @module
 */
export {
  type ChainOptions,
  type ChainUrls,
  startChain,
  type SymbolPrices,
  TestChain,
  type TestWallet,
} from "./test_chain.ts";
