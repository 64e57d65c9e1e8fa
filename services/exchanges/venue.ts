import type { Clock } from "../../lib/clock.ts";
import { VenueConnection } from "./connection.ts";
import type { Dialect } from "./dialect.ts";
import { GAP_EVERY, type VenueFault } from "./faults.ts";
import { RateWindow } from "./limits.ts";
import type { NumberedTrade, Trade } from "./trade.ts";
import { TradeLog } from "./trade_log.ts";

/** The client's end of a connection, as the venue sees it. */
export interface Peer {
  send(text: string): void;
  close(code: number, reason: string): void;
}

/** Connections at a time, of all clients together: a stand-in serves a handful. */
const CONNECTIONS_MAX = 1_000;

/** What a {@link Venue} is made of. */
export interface VenueOptions {
  dialect: Dialect;
  /** Symbols such as `BTC/USDT`. */
  markets: readonly string[];
  /** Trades kept a market, for history; the newest one is kept in any case. */
  tradesKept?: number;
  clock: Clock;
}

/** One exchange: its trades, its connections, and what is wrong with it at the moment. */
export class Venue {
  readonly dialect: Dialect;
  readonly #clock: Clock;
  readonly #logs: Map<string, TradeLog>;
  readonly #connections = new Set<VenueConnection>();
  readonly #faults = new Set<VenueFault>();
  readonly #connecting: RateWindow | undefined;
  readonly #subscribing: RateWindow | undefined;

  constructor({ dialect, markets, clock, tradesKept = 1 }: VenueOptions) {
    this.dialect = dialect;
    this.#clock = clock;
    const { connections, subscriptions } = dialect.limits;
    this.#connecting = connections && new RateWindow(connections);
    this.#subscribing = subscriptions && new RateWindow(subscriptions);
    this.#logs = new Map(
      markets.map((market) => [dialect.symbolOf(market), new TradeLog(tradesKept)]),
    );
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#connections.size;
  }

  /** The trades of a market by the venue's own symbol; undefined if it is not traded here. */
  log(symbol: string): TradeLog | undefined {
    return this.#logs.get(symbol);
  }

  /** Whether something is wrong at the moment. */
  has(fault: VenueFault): boolean {
    return this.#faults.has(fault);
  }

  /** Makes something wrong, on the connections there are and on new ones. */
  inject(fault: VenueFault): void {
    this.#faults.add(fault);
    for (const connection of [...this.#connections]) connection.suffer(fault);
  }

  /** Makes it right again. */
  clear(fault: VenueFault): void {
    this.#faults.delete(fault);
  }

  /** Takes a client's connection. */
  open(peer: Peer): VenueConnection {
    const connection = new VenueConnection({
      venue: this,
      peer,
      clock: this.#clock,
      onEnd: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
    const tooMany = this.#connections.size > CONNECTIONS_MAX;
    if (tooMany || this.#connecting?.take(this.#clock.now()) === false) {
      connection.close(1008, "Too many connections");
    } else connection.start();
    return connection;
  }

  /** Counts a subscribe frame. @returns False if it is one too many. */
  admitsSubscription(): boolean {
    return this.#subscribing?.take(this.#clock.now()) ?? true;
  }

  /** A trade has happened here. */
  trade(trade: Trade): NumberedTrade | undefined {
    const symbol = this.dialect.symbolOf(trade.market);
    const numbered = this.#logs.get(symbol)?.append(trade);
    if (numbered === undefined) return undefined;
    if (this.has("mute") || (this.has("gap") && numbered.id % GAP_EVERY === 0)) return numbered;
    for (const connection of [...this.#connections]) connection.tell(symbol, numbered);
    return numbered;
  }

  /** Closes all connections. */
  stop(): void {
    for (const connection of [...this.#connections]) connection.close(1001, "Going away");
  }
}
