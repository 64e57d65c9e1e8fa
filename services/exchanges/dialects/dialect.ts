import type { ProviderName } from "../../../lib/protocol/providers.ts";
import type { RateLimit } from "../../../lib/rate_window.ts";

export interface Trade {
  provider: ProviderName;
  /** Symbol such as `BTC/USDT`. */
  market: string;
  /** Unix milliseconds. */
  timeMs: number;
  /** Integer with 6 decimals. */
  price: bigint;
  /** Decimal text in the base token. */
  amount: string;
  /** The taker: the buyer or the seller. */
  side: "buy" | "sell";
}

/** A trade with its number in its market at its exchange, counted from 1 without gaps. */
export interface NumberedTrade extends Trade {
  id: number;
}

export type ClientFrame =
  | { kind: "subscribe"; symbols: readonly string[]; id?: unknown }
  | { kind: "ping" }
  | { kind: "invalid"; reason: string };

/** A subscribed market in heartbeats and acknowledgements. */
interface Subscription {
  symbol: string;
  /** The newest trade of the market at this exchange. */
  newest: NumberedTrade | undefined;
}

/** The wire format of one exchange, without state and I/O. */
export interface Dialect {
  readonly provider: ProviderName;
  /** Path of the WebSocket endpoint in the stand-in. */
  readonly path: string;
  /** Delay of this exchange's frames, in milliseconds. */
  readonly delayMs: number;
  readonly limits: ExchangeLimits;
  /** Reads a client's frame; never throws. */
  read(text: string): ClientFrame;
  /** Frames that acknowledge a subscription to `added`; `all` has every present subscription. */
  acknowledge(added: readonly string[], all: readonly string[], id: unknown): string[];
  refuse(symbols: readonly string[], reason: string, id: unknown): string[];
  trade(symbol: string, trade: NumberedTrade): string;
  /** Whether a new subscription immediately gets the newest trade. */
  readonly sendsNewest: boolean;
  /** Frames sent regularly, or only when nothing else was sent in that time. */
  readonly heartbeat?: {
    everyMs: number;
    onlyIdle: boolean;
    frames(subscriptions: readonly Subscription[], nowMs: number): string[];
  };
  readonly pong?: string;
  /** The frame that announces that the exchange will close its connections, if it sends one. */
  readonly shutdownNotice?: string;
}

/** Limits of an exchange; an absent one means no limit. */
interface ExchangeLimits {
  /** Connections, of all clients together: usually there is one client. */
  connections?: RateLimit;
  /** Frames of one client; exceeding the limit closes its connection. */
  messages?: RateLimit;
  /** Subscribe frames, of all clients together; further ones are refused. */
  subscriptions?: RateLimit;
  /** A connection that has not subscribed by then is closed, in milliseconds. */
  subscribeWithinMs?: number;
  /** A connection without frames from either side for this long is closed, in milliseconds. */
  idleMs?: number;
  /** A connection is closed at this age, in milliseconds. */
  lifetimeMs?: number;
}
