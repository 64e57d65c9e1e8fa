import { type Clock, systemClock } from "../clock.ts";
import type { SocketLike } from "../net/reconnecting_socket.ts";
import type { Market } from "../protocol/markets.ts";
import { type Address, addressSchema } from "../protocol/scalars.ts";
import { WatchError } from "./errors.ts";
import { requireAddress, requireObject, wrongInput } from "./input.ts";
import type { Wallet } from "./wallet.ts";

/** Base URLs of the services that a user talks to. */
export interface ClientUrls {
  solver: string;
  bridge: string;
  /** JSON-RPC over HTTP: the proxy, or a node. */
  proxy: string;
  /** JSON-RPC over WebSocket: the proxy's `/ws`, or a node. */
  proxyWs: string;
}

/** Options of a {@link RangemakerClient}. */
export interface ClientOptions {
  urls: ClientUrls;
  /**
   * The chain to sign for, from your own settings. Signatures are valid on no other chain, and a
   * service of another one is refused with `CHAIN_MISMATCH`: it could submit them there.
   */
  chainId: number;
  /** Address of the solver whose quotes are accepted; by default the one that the solver reports. */
  solver?: Address | undefined;
  /** Signs for the user; leave it out to only read. */
  wallet?: Wallet | undefined;
  /** Unix time, such as `{ now: () => myTime }`; the machine's own by default. Timers are optional. */
  clock?: Pick<Clock, "now"> & Partial<Clock>;
  /** The markets of the deployment; those of the specification by default. */
  markets?: readonly Market[];
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
  connect?: (url: string) => SocketLike;
}

const URL_NAMES = ["solver", "bridge", "proxy", "proxyWs"] as const;

/** The URLs without slashes at their end, ready for a route. @throws {InputError} If one is missing. */
export function baseUrls(urls: ClientUrls): ClientUrls {
  requireObject("urls", urls, `Expected an object with ${URL_NAMES.join(", ")}`);
  for (const name of URL_NAMES) {
    if (typeof urls[name] !== "string") {
      throw wrongInput(`urls.${name}`, "Expected a URL", urls[name]);
    }
  }
  const trimmed = (url: string) => url.replace(/\/+$/, "");
  return { ...urls, solver: trimmed(urls.solver), bridge: trimmed(urls.bridge) };
}

/** The chain id of the options. @throws {InputError} If there is none. */
export function chainIdOf({ chainId }: ClientOptions): number {
  if (Number.isSafeInteger(chainId) && chainId > 0) return chainId;
  throw wrongInput("chainId", "Expected the id of the chain to sign for, such as 1337", chainId);
}

/** The solver of the options, in EIP-55 form. @throws {InputError} If it is no address. */
export function solverOf({ solver }: ClientOptions): Address | undefined {
  requireAddress("solver", solver);
  return solver && addressSchema.parse(solver);
}

/** The clock of the options, with the machine's timers unless it has its own. @throws {InputError} */
export function clockOf({ clock = systemClock }: ClientOptions): Clock {
  if (typeof clock?.now !== "function") {
    throw wrongInput("clock", "Expected an object with now(): Unix milliseconds", clock);
  }
  return {
    now: () => clock.now(),
    after: (delayMs, task) =>
      clock.after === undefined ? systemClock.after(delayMs, task) : clock.after(delayMs, task),
  };
}

/** @throws {WatchError} `NO_WEBSOCKET` if the runtime has none and the options open none. */
export function requireWebSocket(connect: ClientOptions["connect"]): void {
  if (connect !== undefined || typeof WebSocket !== "undefined") return;
  const message = "This runtime has no WebSocket: install the package ws, and give " +
    "RangemakerClient the option connect: (url) => new WebSocket(url)";
  throw new WatchError("NO_WEBSOCKET", message);
}
