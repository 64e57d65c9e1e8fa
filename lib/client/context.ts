import type { Clock } from "../clock.ts";
import { callJson } from "../net/call_json.ts";
import { CoreReader } from "../net/core_reader.ts";
import { Markets, SPEC_MARKETS } from "../protocol/markets.ts";
import type { Address } from "../protocol/scalars.ts";
import { typedDataSchema } from "../protocol/typed_data.ts";
import { ChainError, WalletError } from "./errors.ts";
import { requireObject } from "./input.ts";
import {
  baseUrls,
  chainIdOf,
  type ClientOptions,
  type ClientUrls,
  clockOf,
  solverOf,
} from "./options.ts";
import { type Signing, signingOf } from "./wallet.ts";

/** What the actions of a client share. */
export interface Context {
  readonly urls: ClientUrls;
  readonly node: CoreReader;
  /** The chain that the client was made for. */
  readonly chainId: number;
  readonly solver: Address | undefined;
  readonly clock: Clock;
  readonly markets: Markets;
  readonly connect: ClientOptions["connect"];
  readonly signing: Signing | undefined;
}

/** @throws {InputError} If an option does not fit. @throws {WalletError} `UNSUPPORTED_WALLET` */
export function contextOf(options: ClientOptions): Context {
  requireObject("options", options, "Expected an object with urls and chainId");
  const { urls, connect, markets, wallet } = options;
  return {
    urls: baseUrls(urls),
    chainId: chainIdOf(options),
    node: new CoreReader({ url: urls.proxy }),
    solver: solverOf(options),
    clock: clockOf(options),
    markets: markets === undefined ? SPEC_MARKETS : new Markets(markets),
    connect,
    signing: wallet === undefined ? undefined : signingOf(wallet),
  };
}

/** The wallet of the options. @throws {WalletError} `WALLET_REQUIRED` */
export function walletOf({ signing }: Context): Signing {
  if (signing !== undefined) return signing;
  throw new WalletError(
    "WALLET_REQUIRED",
    "RangemakerClient has no wallet: pass a viem account, or window.ethereum, as wallet " +
      "(a browser without a wallet has no window.ethereum)",
  );
}

/** @throws {ChainError} If the node has another chain than the client was made for. */
export async function requireNodeChain({ node, chainId }: Context): Promise<void> {
  const actual = await node.chainId();
  if (actual !== chainId) throw new ChainError("node", chainId, actual);
}

/** @throws {ChainError} If a service checks signatures for another chain. */
export async function requireServiceChain(
  { urls, chainId }: Context,
  service: "solver" | "bridge",
): Promise<void> {
  const { domain } = await callJson(`${urls[service]}/typed-data`, typedDataSchema);
  if (domain.chainId !== chainId) throw new ChainError(service, chainId, domain.chainId);
}
