/** The wallets that TypeScript has to accept; `package_test.ts` compiles it. */
import { type ClientUrls, RangemakerClient } from "@rangemaker/client";
import type { TestChain } from "@rangemaker/testing";
import { createWalletClient, custom, type EIP1193Provider } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import WebSocket from "ws";

export function clientsOf(urls: ClientUrls, provider: EIP1193Provider): RangemakerClient[] {
  const account = privateKeyToAccount(generatePrivateKey());
  const transport = custom(provider);
  const wallets = [
    account,
    createWalletClient({ transport }),
    createWalletClient({ account, transport }),
    provider,
  ];
  return wallets.map((wallet) =>
    new RangemakerClient({ urls, chainId: 1337, wallet, connect: (url) => new WebSocket(url) })
  );
}

export function clientOf({ options, wallets: [wallet] }: TestChain): RangemakerClient {
  return new RangemakerClient({ ...options, wallet });
}
