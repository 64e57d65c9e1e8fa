import type { CancelTimer, Clock, RandomSource } from "../../lib/clock.ts";
import type { Market } from "../../lib/protocol/markets.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import type { SocketLike } from "../../lib/net/reconnecting_socket.ts";
import { Feed } from "./feed.ts";
import type { OracleMetrics } from "./metrics.ts";
import { PriceBoard, type PriceBoardOptions } from "./price_board.ts";
import type { Provider } from "./provider.ts";

/** What an {@link Oracle} is made of. */
export interface OracleParts {
  /** Whom to ask, and where; `url` is the provider's own unless another is wanted. */
  providers: readonly { provider: Provider; url: string }[];
  markets: readonly Market[];
  board: Omit<PriceBoardOptions, "markets">;
  clock: Clock;
  random: RandomSource;
  metrics: OracleMetrics;
  /** Opens a socket; the platform's by default. */
  connect?: (url: string) => SocketLike;
}

/** The feeds, the board they write on, and the timer that takes from it what grew too old. */
export class Oracle {
  readonly board: PriceBoard;
  readonly feeds: readonly Feed[];
  readonly #clock: Clock;
  readonly #metrics: OracleMetrics;
  #cancelExpiry: CancelTimer | undefined;

  constructor(parts: OracleParts) {
    const { clock, random, metrics, markets, connect } = parts;
    this.#clock = clock;
    this.#metrics = metrics;
    this.board = new PriceBoard({ ...parts.board, markets });
    this.feeds = parts.providers.map(({ provider, url }) =>
      new Feed({
        provider,
        url,
        markets: markets.map((market) => market.symbol),
        clock,
        random,
        connect,
        handlers: {
          onPrint: (provider, symbol, price) => this.#print(provider, symbol, price),
          onDrop: (provider, symbol) => this.board.drop(provider, clock.now(), symbol),
          onFault: (provider, fault) => metrics.faults.inc({ provider, fault }),
          onReconnect: (provider) => metrics.reconnects.inc({ provider }),
          onDroppedFrame: (provider, reason) => metrics.droppedFrames.inc({ provider, reason }),
        },
      })
    );
  }

  start(): void {
    for (const feed of this.feeds) feed.start();
  }

  stop(): void {
    for (const feed of this.feeds) feed.stop();
    this.#cancelExpiry?.();
  }

  #print(provider: ProviderName, symbol: string, price: bigint): void {
    const stop = this.#metrics.timeAggregation();
    this.board.update(provider, symbol, price, this.#clock.now());
    stop();
    this.#metrics.prints.inc({ provider });
    if (this.#cancelExpiry === undefined) this.#watchExpiry();
  }

  /** One timer, set for the source that expires first; a newer price only ever moves that later. */
  #watchExpiry(): void {
    const nowMs = this.#clock.now();
    const dueMs = this.board.expire(nowMs);
    this.#cancelExpiry = dueMs === undefined
      ? undefined
      : this.#clock.after(dueMs - nowMs, () => this.#watchExpiry());
  }
}
