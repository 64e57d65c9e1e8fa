import type { Clock } from "../clock.ts";
import { CoreReader, type ThesisFilter } from "../net/core_reader.ts";
import { type Page, pagesOf } from "../net/pages.ts";
import { Markets, SPEC_MARKETS } from "../protocol/markets.ts";
import type { NodePrice } from "../protocol/price.ts";
import type { Hex } from "../protocol/scalars.ts";
import type { Thesis } from "../protocol/thesis.ts";
import { marketOf, type PriceHistory } from "./bet.ts";
import { ChainError } from "./errors.ts";
import { requireAddress, requireObject, requireThesisId, requireTime } from "./input.ts";
import {
  baseUrls,
  chainIdOf,
  type ClientOptions,
  type ClientUrls,
  clockOf,
  requireWebSocket,
} from "./options.ts";
import { type PriceHandlers, PriceWatch } from "./prices.ts";

/** Some theses, oldest first. A page may be empty although more follow. */
export interface ThesesPage extends Page {
  theses: Thesis[];
}

/** The reading half of the client, which needs no wallet. */
export class ChainReader {
  protected readonly urls: ClientUrls;
  protected readonly node: CoreReader;
  /** The chain that the client was made for. */
  protected readonly ownChainId: number;
  protected readonly clock: Clock;
  protected readonly markets: Markets;
  protected readonly connect: ClientOptions["connect"];

  /** @throws {InputError} Without the URLs of the services or the chain id. */
  constructor(options: ClientOptions) {
    requireObject("options", options, "Expected an object with urls and chainId");
    const { urls, connect, markets } = options;
    this.urls = baseUrls(urls);
    this.ownChainId = chainIdOf(options);
    this.node = new CoreReader({ url: urls.proxy });
    this.clock = clockOf(options);
    this.markets = markets === undefined ? SPEC_MARKETS : new Markets(markets);
    this.connect = connect;
  }

  /**
   * The chain id that the node reports. Nothing is signed unless it is the option `chainId`.
   *
   * @example
   * ```ts
   * const chainId = await client.chainId(); // 1337, unless the node was set otherwise
   * ```
   */
  chainId(): Promise<number> {
    return this.node.chainId();
  }

  /** @throws {ChainError} If the node has another chain than the client was made for. */
  protected async requireChain(): Promise<void> {
    const actual = await this.chainId();
    if (actual !== this.ownChainId) throw new ChainError("node", this.ownChainId, actual);
  }

  /**
   * The hash of the chain's first block. It differs between two chains of the same id, so it shows
   * that a development chain was reset: everything read before is of a chain that is gone. Null if
   * the node does not tell.
   *
   * @example
   * ```ts
   * const before = await client.genesisHash();
   * // after a reconnect
   * const isReset = await client.genesisHash() !== before;
   * ```
   */
  genesisHash(): Promise<Hex | null> {
    return this.node.genesisHash();
  }

  /**
   * The newest prices by symbol, as the node has them.
   *
   * @example
   * ```ts
   * const { price, state } = (await client.prices())["ETH/USDT"];
   * ```
   */
  prices(): Promise<Record<string, NodePrice>> {
    return this.node.getPrices();
  }

  /**
   * The newest prices of all markets, ten times a second, reconnecting after every loss. It connects
   * in the background: `onState` says when prices arrive. Close it after use.
   *
   * @throws {WatchError} `NO_WEBSOCKET` in a runtime without one.
   * @example
   * ```ts
   * const watch = client.watchPrices({
   *   onPrices: (prices) => console.log(prices["ETH/USDT"].price),
   *   onState: (state, reason) => console.log(state, reason ?? ""),
   * });
   * // later
   * watch.close();
   * ```
   */
  watchPrices(handlers: PriceHandlers): PriceWatch {
    requireWebSocket(this.connect);
    return new PriceWatch({
      ...handlers,
      url: this.urls.proxyWs,
      clock: this.clock,
      random: Math.random,
      connect: this.connect,
    });
  }

  /**
   * Recorded prices of a market from one time to another, in Unix milliseconds.
   *
   * @example
   * ```ts
   * const { prices } = await client.history("ETH/USDT", Date.now() - 60_000, Date.now());
   * ```
   */
  async history(symbol: string, from: number, to: number): Promise<PriceHistory> {
    const { base, quote } = marketOf(symbol, this.markets);
    requireTime("from", from);
    requireTime("to", to);
    const history: PriceHistory = { prices: [], missing: [] };
    const read = (cursor?: string) => this.node.getPriceHistory({ base, quote, from, to, cursor });
    for await (const { prices, missing } of pagesOf(read)) {
      history.prices = history.prices.concat(prices);
      history.missing = history.missing.concat(missing);
    }
    return history;
  }

  /**
   * One thesis of anybody, or null if the chain has none with this id.
   *
   * @example
   * ```ts
   * const thesis = await client.thesis(thesisId);
   * ```
   */
  async thesis(id: number): Promise<Thesis | null> {
    requireThesisId("id", id);
    return await this.node.getThesis(id);
  }

  /**
   * The theses of everybody, or those that fit the filter, oldest first, page by page. A page is read
   * when it is asked for. To go on later, pass the last `nextCursor` that was not null as `cursor`.
   *
   * @param filter `user`, `solver` and `status` narrow; `limit` is the most theses of a page.
   * @example
   * ```ts
   * let locked = 0n;
   * for await (const { theses } of client.theses({ user: await client.address(), status: "open" })) {
   *   for (const { betAmount } of theses) locked += betAmount;
   * }
   * ```
   */
  theses({ cursor: first, ...filter }: ThesisFilter = {}): AsyncGenerator<ThesesPage, void> {
    requireAddress("user", filter.user);
    requireAddress("solver", filter.solver);
    return pagesOf((cursor = first) => this.node.getTheses({ ...filter, cursor }));
  }
}
