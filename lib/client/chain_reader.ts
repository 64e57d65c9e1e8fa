import { readPages, type ThesisFilter } from "../net/core_reader.ts";
import { appendSpan } from "../prices/price_slots.ts";
import type { ThesesPage } from "../protocol/methods/reads.ts";
import type { NodePrice } from "../protocol/price.ts";
import type { Hex } from "../protocol/scalars.ts";
import { isUnsettled, type Thesis } from "../protocol/thesis.ts";
import { type PriceHistory, requireMarket } from "./bet.ts";
import {
  requireThesisFilter,
  requireThesisId,
  requireTime,
  requireTimeout,
  wrongInput,
} from "./input.ts";
import { type ClientOptions, type Context, createContext } from "./context.ts";
import { isRangemakerError, WatchError } from "./errors.ts";
import { openWatch, waitForThesis } from "./open_watch.ts";
import { type PriceHandlers, PriceWatch } from "./prices.ts";

/** The reading half of the client, which needs no wallet. */
export class ChainReader {
  protected readonly context: Context;

  /**
   * @throws {InputError} Without the URLs of the services or the chain id.
   * @throws {WalletError} `UNSUPPORTED_WALLET` if the wallet has none of the known shapes.
   */
  constructor(options: ClientOptions) {
    this.context = createContext(options);
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
    return this.context.node.getChainId();
  }

  /**
   * The hash of the chain's first block. Two chains with the same id have different hashes, so a
   * new hash shows that a development chain was reset: everything read before is outdated.
   *
   * @example
   * ```ts
   * const before = await client.genesisHash();
   * // after a reconnect
   * const isReset = await client.genesisHash() !== before;
   * ```
   */
  genesisHash(): Promise<Hex> {
    return this.context.node.getGenesisHash();
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
    return this.context.node.getPrices();
  }

  /**
   * The newest prices of all markets, ten times a second, reconnecting after every loss. It
   * connects in the background: `onState` reports when prices arrive. Close it after use.
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
    return new PriceWatch(this.context, handlers);
  }

  /**
   * Recorded prices of a market between two times, in Unix milliseconds, and the spans without any.
   *
   * @example
   * ```ts
   * const { prices } = await client.history("ETH/USDT", Date.now() - 60_000, Date.now());
   * ```
   */
  async history(symbol: string, from: number, to: number): Promise<PriceHistory> {
    const { base, quote } = requireMarket(symbol, this.context.markets);
    requireTime("from", from);
    requireTime("to", to);
    if (from > to) throw wrongInput("from", `Expected a time up to \`to\`, ${to}`, from);
    const history: PriceHistory = { prices: [], missing: [] };
    const read = (cursor?: string) =>
      this.context.node.getPriceHistory({ base, quote, from, to, cursor });
    for await (const { prices, missing } of readPages(read)) {
      for (const price of prices) history.prices.push(price);
      // A span may begin on one page and end on the next.
      for (const span of missing) appendSpan(history.missing, span);
    }
    return history;
  }

  /**
   * One thesis of any user, or null if the chain has none with this id.
   *
   * @example
   * ```ts
   * const thesis = await client.thesis(thesisId);
   * ```
   */
  async thesis(id: number): Promise<Thesis | null> {
    requireThesisId("id", id);
    return await this.context.node.getThesis(id);
  }

  /**
   * Waits for the outcome of one thesis, of any user; one that is `needs_backfill` has none until
   * an operator has filled in the missing prices.
   *
   * @throws {WatchError} `NOT_CONNECTED` without a connection within `timeoutMs` (10 s at most),
   *   `WATCH_TIMEOUT` without an outcome within `timeoutMs` after connecting, with the thesis's
   *   `status` in `details`, `UNKNOWN_THESIS` if the chain has no such thesis.
   * @example
   * ```ts
   * const { status } = await client.settled(thesisId, 60_000); // "won" or "lost"
   * ```
   */
  async settled(thesisId: number, timeoutMs: number): Promise<Thesis> {
    requireThesisId("thesisId", thesisId);
    requireTimeout(timeoutMs);
    const known = await waitForThesis(this.context, thesisId, timeoutMs);
    if (!isUnsettled(known.status)) return known;
    const watch = await openWatch(this.context, {}, { user: known.user }, timeoutMs);
    try {
      // A chain that is restored meanwhile may give the id to another bet.
      const isOutcome = ({ quoteHash, status }: Thesis) =>
        quoteHash === known.quoteHash && !isUnsettled(status);
      return await watch.until(isOutcome, timeoutMs);
    } catch (thrown) {
      if (!isRangemakerError(thrown, "WATCH_TIMEOUT")) throw thrown;
      const { status } = watch.theses.find(({ quoteHash }) => quoteHash === known.quoteHash) ??
        known;
      const cause = status === "open" ? "" : ": it waits until its missing prices are filled in";
      const message = `Thesis ${thesisId} is ${status} after ${timeoutMs} ms${cause}`;
      throw new WatchError("WATCH_TIMEOUT", message, { timeoutMs, thesisId, status });
    } finally {
      watch.close();
    }
  }

  /**
   * The theses of all users, or the ones that match the filter, oldest first, page by page. Each
   * page is read on demand. To continue later, pass the last `nextCursor` that is not null.
   *
   * @param filter `user`, `solver` and `status` narrow the result; `limit` is the theses per page.
   * @throws {InputError} For any other member, and for a value that does not fit.
   * @example
   * ```ts
   * let locked = 0n;
   * const user = await client.address();
   * for await (const { theses } of client.theses({ user, status: "open" })) {
   *   for (const { betAmount } of theses) locked += betAmount;
   * }
   * ```
   */
  theses(filter: ThesisFilter = {}): AsyncGenerator<ThesesPage, void> {
    requireThesisFilter(filter);
    const { cursor: first } = filter;
    return readPages((cursor = first) => this.context.node.getTheses({ ...filter, cursor }));
  }
}
