import type { Clock } from "../../lib/clock.ts";
import { exchangeSymbol, type Market } from "../../lib/protocol/markets.ts";
import { RateWindow } from "../../lib/rate_window.ts";
import { ExchangeConnection, type ExchangeState, type Peer } from "./connection.ts";
import type { Dialect, Trade } from "./dialects/dialect.ts";
import { type ExchangeFault, GAP_EVERY } from "./faults.ts";
import { TradeLog } from "./trade_log.ts";

/** Most open connections, of all clients together: a stand-in serves a handful. */
const CONNECTIONS_MAX = 1_000;

interface ExchangeOptions {
  dialect: Dialect;
  markets: readonly Market[];
  /** Trades kept per market for history; the newest one is always kept. */
  tradesKept?: number;
  clock: Clock;
}

/** One exchange: its trades, connections and active faults. */
export class Exchange implements ExchangeState {
  readonly dialect: Dialect;
  readonly #clock: Clock;
  /** The exchange's own symbols, by symbols such as `BTC/USDT`. */
  readonly #symbols: ReadonlyMap<string, string>;
  readonly #logs: ReadonlyMap<string, TradeLog>;
  readonly #connections = new Set<ExchangeConnection>();
  readonly #faults = new Set<ExchangeFault>();
  readonly #connecting: RateWindow | undefined;
  readonly #subscribing: RateWindow | undefined;

  constructor({ dialect, markets, clock, tradesKept = 1 }: ExchangeOptions) {
    this.dialect = dialect;
    this.#clock = clock;
    const { connections, subscriptions } = dialect.limits;
    this.#connecting = connections && new RateWindow(connections);
    this.#subscribing = subscriptions && new RateWindow(subscriptions);
    const symbolOf = (market: Market) => exchangeSymbol(market, dialect.provider);
    this.#symbols = new Map(markets.map((market) => [market.symbol, symbolOf(market)]));
    this.#logs = new Map(markets.map((market) => [symbolOf(market), new TradeLog(tradesKept)]));
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Trades of a market by the exchange's own symbol; undefined for an unknown market. */
  log(symbol: string): TradeLog | undefined {
    return this.#logs.get(symbol);
  }

  hasFault(fault: ExchangeFault): boolean {
    return this.#faults.has(fault);
  }

  /** Injects a fault into open and new connections. */
  inject(fault: ExchangeFault): void {
    this.#faults.add(fault);
    for (const connection of [...this.#connections]) connection.applyFault(fault);
  }

  clear(fault: ExchangeFault): void {
    this.#faults.delete(fault);
  }

  open(peer: Peer): ExchangeConnection {
    const connection = new ExchangeConnection({
      exchange: this,
      peer,
      clock: this.#clock,
      onEnd: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
    const tooMany = this.#connections.size > CONNECTIONS_MAX;
    if (tooMany || this.#connecting?.tryAdd(this.#clock.now()) === false) {
      connection.close(1008, "Too many connections");
    } else connection.start();
    return connection;
  }

  /** Counts a subscribe frame. @returns False if it is over the limit. */
  tryAddSubscription(): boolean {
    return this.#subscribing?.tryAdd(this.#clock.now()) ?? true;
  }

  /** Records a trade and publishes it to subscribers. */
  trade(trade: Trade): void {
    const symbol = this.#symbols.get(trade.market) ?? "";
    const numbered = this.#logs.get(symbol)?.append(trade);
    if (numbered === undefined || this.hasFault("mute")) return;
    if (this.hasFault("gap") && numbered.id % GAP_EVERY === 0) return;
    for (const connection of [...this.#connections]) connection.publish(symbol, numbered);
  }

  stop(): void {
    for (const connection of [...this.#connections]) connection.close(1001, "Going away");
  }
}
