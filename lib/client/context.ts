import { type Clock, systemClock } from "../clock.ts";
import type { RandomSource } from "../random.ts";
import { callJson } from "../net/call_json.ts";
import { CoreReader } from "../net/core_reader.ts";
import { type Market, Markets, SPEC_MARKETS } from "../protocol/markets.ts";
import { type Address, addressSchema } from "../protocol/scalars.ts";
import { typedDataSchema } from "../protocol/typed_data.ts";
import { ChainError, WalletError, WatchError } from "./errors.ts";
import { requireObject, requireOptionalAddress, wrongInput } from "./input.ts";
import { adaptWallet, type Wallet, type WalletAdapter } from "./wallet.ts";
import type { SocketLike } from "../net/reconnecting_socket.ts";

/** The parts that all methods of a client share. */
export interface Context {
  readonly urls: ClientUrls;
  readonly node: CoreReader;
  /** The chain that the client was made for. */
  readonly chainId: number;
  readonly solver: Address | undefined;
  readonly clock: Clock;
  readonly markets: Markets;
  readonly connect: ClientOptions["connect"];
  /** Jitter of the waits before reconnecting. */
  readonly random: RandomSource;
  readonly wallet: WalletAdapter | undefined;
}

/** The parts that a watch needs; `urls.proxyWs` is the URL of the proxy or of a node. */
export type WatchContext = Pick<Context, "clock" | "connect" | "random"> & {
  readonly urls: Pick<ClientUrls, "proxyWs">;
};

/**
 * @throws {InputError} If an option does not fit.
 * @throws {WalletError} `UNSUPPORTED_WALLET`
 */
export function createContext(options: ClientOptions): Context {
  requireObject("options", options, "Expected an object with urls and chainId");
  const { urls, connect, markets, wallet } = options;
  return {
    urls: baseUrls(urls),
    chainId: requireChainId(options),
    node: new CoreReader({ url: urls.proxy }),
    solver: requireOptionalSolver(options),
    clock: requireClock(options),
    markets: markets === undefined ? SPEC_MARKETS : requireMarkets(markets),
    connect,
    random: Math.random,
    wallet: wallet === undefined ? undefined : adaptWallet(wallet),
  };
}

/** The wallet of the options. @throws {WalletError} `WALLET_REQUIRED` */
export function requireWallet({ wallet }: Context): WalletAdapter {
  if (wallet !== undefined) return wallet;
  throw new WalletError(
    "WALLET_REQUIRED",
    "RangemakerClient has no wallet: pass a viem account, or window.ethereum, as wallet " +
      "(a browser without a wallet has no window.ethereum)",
  );
}

/** @throws {ChainError} If the node has another chain than the client. */
export async function requireNodeChain({ node, chainId }: Context): Promise<void> {
  const actual = await node.getChainId();
  if (actual !== chainId) throw new ChainError("node", chainId, actual);
}

/** @throws {ChainError} If a service has another chain than the client. */
export async function requireServiceChain(
  { urls, chainId }: Context,
  service: "solver" | "bridge",
): Promise<void> {
  const { domain } = await callJson(`${urls[service]}/typed-data`, typedDataSchema);
  if (domain.chainId !== chainId) throw new ChainError(service, chainId, domain.chainId);
}

/** Base URLs of the services that a user talks to. */
export interface ClientUrls {
  solver: string;
  bridge: string;
  /** JSON-RPC over HTTP: the proxy, or a node. */
  proxy: string;
  /** JSON-RPC over WebSocket: the proxy's `/ws`, or a node. */
  proxyWs: string;
}

/** Options of a client: URLs of the services, the chain to sign for, and the wallet. */
export interface ClientOptions {
  urls: ClientUrls;
  /**
   * The chain to sign for, from your own settings. Signatures are valid on this chain only. The
   * client refuses services of another chain with `CHAIN_MISMATCH`.
   */
  chainId: number;
  /** Address of the solver whose quotes are accepted; by default, the one that it reports. */
  solver?: Address | undefined;
  /** Signs for the user; leave it out to only read. */
  wallet?: Wallet | undefined;
  /** Unix time, such as `{ now: () => myTime }`; by default the machine's. Timers are optional. */
  clock?: (Pick<Clock, "now"> & Partial<Clock>) | undefined;
  /** The markets of the deployment; those of the specification by default. */
  markets?: readonly Market[] | undefined;
  /**
   * Opens a WebSocket, where the runtime has none. Node before version 22 takes the package `ws`:
   *
   * @example
   * ```ts
   * import WebSocket from "ws";
   * const connect = (url) => new WebSocket(url);
   * const client = new RangemakerClient({ urls, chainId: 1337, connect });
   * ```
   */
  connect?: ((url: string) => SocketLike) | undefined;
}

/** The URLs by name, with the schemes that each may have. A WebSocket opens an HTTP URL too. */
const URL_SCHEMES = {
  solver: ["http", "https"],
  bridge: ["http", "https"],
  proxy: ["http", "https"],
  proxyWs: ["ws", "wss", "http", "https"],
} as const satisfies Record<keyof ClientUrls, readonly string[]>;

/**
 * The URLs; those that get a path, without slashes at their end.
 *
 * @throws {InputError} If one does not fit.
 */
function baseUrls(urls: ClientUrls): ClientUrls {
  const names = Object.keys(URL_SCHEMES);
  requireObject("urls", urls, `Expected an object with ${names.join(", ")}`);
  for (const [name, schemes] of Object.entries(URL_SCHEMES)) {
    const url: unknown = Reflect.get(urls, name);
    if (typeof url === "string" && hasScheme(url, schemes)) continue;
    const rule = `Expected a URL that begins with ${schemes.slice(0, 2).join(":// or ")}://`;
    throw wrongInput(`urls.${name}`, rule, url);
  }
  const trimmed = (url: string) => url.replace(/\/+$/, "");
  return { ...urls, solver: trimmed(urls.solver), bridge: trimmed(urls.bridge) };
}

/** Whether a text is an absolute URL with one of these schemes. */
function hasScheme(text: string, schemes: readonly string[]): boolean {
  try {
    return schemes.includes(new URL(text).protocol.slice(0, -1));
  } catch {
    return false;
  }
}

/** The chain id of the options. @throws {InputError} If there is none. */
function requireChainId({ chainId }: ClientOptions): number {
  if (Number.isSafeInteger(chainId) && chainId > 0) return chainId;
  throw wrongInput("chainId", "Expected the id of the chain to sign for, such as 1337", chainId);
}

/** The solver of the options, in EIP-55 form. @throws {InputError} If it is not an address. */
function requireOptionalSolver({ solver }: ClientOptions): Address | undefined {
  requireOptionalAddress("solver", solver);
  return solver && addressSchema.parse(solver);
}

/** The markets, with addresses in EIP-55 form, in which services name them. @throws {InputError} */
function requireMarkets(markets: readonly Market[]): Markets {
  const checksummed = (market: Market): Market => ({
    ...market,
    base: addressSchema.parse(market.base),
    quote: addressSchema.parse(market.quote),
  });
  try {
    return new Markets(markets.map(checksummed));
  } catch {
    const rule = "Expected one market or more, each with symbol, base and quote, and none twice";
    throw wrongInput("markets", rule, markets);
  }
}

/** The clock of the options; its timers are the machine's by default. @throws {InputError} */
function requireClock({ clock = systemClock }: ClientOptions): Clock {
  if (typeof clock?.now !== "function") {
    throw wrongInput("clock", "Expected an object with now(): Unix milliseconds", clock);
  }
  return {
    now: () => Math.floor(clock.now()), // deadlines are whole milliseconds
    after: (delayMs, task) =>
      clock.after === undefined ? systemClock.after(delayMs, task) : clock.after(delayMs, task),
  };
}

/** @throws {WatchError} `NO_WEBSOCKET` if neither the runtime nor the options have a WebSocket. */
export function requireWebSocket(connect: ClientOptions["connect"]): void {
  if (connect !== undefined || typeof WebSocket !== "undefined") return;
  const message = "This runtime has no WebSocket: install the package ws, and give " +
    "RangemakerClient the option connect: (url) => new WebSocket(url)";
  throw new WatchError("NO_WEBSOCKET", message);
}
