import type { CancelTimer, Clock } from "../../lib/clock.ts";
import type { RandomSource } from "../../lib/random.ts";
import type { Market } from "../../lib/protocol/markets.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import type { SocketLike } from "../../lib/net/reconnecting_socket.ts";
import type { OracleMetrics } from "./metrics.ts";
import { PriceBoard, type PriceBoardOptions } from "./price_board.ts";
import type { Provider } from "./providers/provider.ts";
import { ProviderConnection } from "./provider_connection.ts";

interface PriceOracleOptions {
  providers: readonly { provider: Provider; url: string }[];
  markets: readonly Market[];
  board: Omit<PriceBoardOptions, "markets">;
  clock: Clock;
  random: RandomSource;
  metrics: OracleMetrics;
  /** Opens a socket; that of {@link ProviderConnection} by default. */
  connect?: (url: string) => SocketLike;
}

/**
 * Connects the providers to the price board, and expires prices that are too old.
 *
 * A trade goes from the exchange's socket (`ProviderConnection`) to the provider's session, which
 * parses its frame, and to the board: the market's aggregate takes its price, and the next
 * `GET /prices` gets the board's body.
 */
export class PriceOracle {
  readonly board: PriceBoard;
  readonly connections: readonly ProviderConnection[];
  readonly #clock: Clock;
  readonly #metrics: OracleMetrics;
  #cancelExpiry: CancelTimer | undefined;

  constructor(options: PriceOracleOptions) {
    const { clock, random, metrics, markets, connect } = options;
    this.#clock = clock;
    this.#metrics = metrics;
    this.board = new PriceBoard({ ...options.board, markets });
    this.connections = options.providers.map((target) => {
      const provider = target.provider.name;
      metrics.trades.inc({ provider }, 0); // one that never connects is silent too
      return new ProviderConnection({
        ...target,
        markets,
        clock,
        random,
        connect,
        handlers: {
          onTrade: (symbol, price) => this.#onTrade(provider, symbol, price),
          onConfirmed: (symbol) => this.#confirm(provider, symbol),
          onIdle: () => this.#keepAlive(provider),
          onLost: () => this.board.removeProvider(provider, clock.now()),
          onFault: (fault) => metrics.faults.inc({ provider, fault }),
          onReconnect: () => metrics.reconnects.inc({ provider }),
          onFrameDropped: (reason) => metrics.droppedFrames.inc({ provider, reason }),
        },
      });
    });
  }

  start(): void {
    for (const connection of this.connections) connection.start();
  }

  stop(): void {
    for (const connection of this.connections) connection.stop();
    this.#cancelExpiry?.();
  }

  #onTrade(provider: ProviderName, symbol: string, price: bigint): void {
    const stop = this.#metrics.timeAggregation();
    this.board.update(provider, symbol, price, this.#clock.now());
    stop();
    this.#metrics.trades.inc({ provider });
    if (this.#cancelExpiry === undefined) this.#watchExpiry();
  }

  #confirm(provider: ProviderName, symbol: string): void {
    this.board.confirm(provider, symbol, this.#clock.now());
    if (this.#cancelExpiry === undefined) this.#watchExpiry();
  }

  #keepAlive(provider: ProviderName): void {
    this.board.keepAlive(provider, this.#clock.now());
    // A quiet source that contributes again may expire before all others.
    this.#cancelExpiry?.();
    this.#watchExpiry();
  }

  /** Sets one timer, for the source that expires first. A newer price can only postpone that. */
  #watchExpiry(): void {
    const nowMs = this.#clock.now();
    const dueMs = this.board.expire(nowMs);
    this.#cancelExpiry = dueMs === undefined
      ? undefined
      : this.#clock.after(dueMs - nowMs, () => this.#watchExpiry());
  }
}
