import type { ProviderName } from "../../lib/protocol/providers.ts";
import type { VenueLimits } from "./limits.ts";
import type { NumberedTrade } from "./trades.ts";

/** The request in a client's frame. */
export type ClientFrame =
  | { kind: "subscribe"; symbols: readonly string[]; id?: unknown }
  | { kind: "ping" }
  | { kind: "invalid"; reason: string; id?: unknown };

/** A subscribed market in heartbeats and acknowledgements. */
export interface Subscription {
  symbol: string;
  /** The newest trade of the market at this venue. */
  newest: NumberedTrade | undefined;
}

/** The wire format of one exchange, without state and I/O. */
export interface Dialect {
  readonly provider: ProviderName;
  /** Path of the WebSocket endpoint in the stand-in. */
  readonly path: string;
  /** Delay of this venue's frames, in milliseconds. */
  readonly lateMs: number;
  readonly limits: VenueLimits;
  /** Reads a client's frame; never throws. */
  read(text: string): ClientFrame;
  /** Acknowledges a subscription to `added`; `all` are the present subscriptions. */
  acknowledge(added: readonly string[], all: readonly string[], id: unknown): string[];
  refuse(symbols: readonly string[], reason: string, id: unknown): string[];
  trade(symbol: string, trade: NumberedTrade): string;
  /** Whether a new subscription gets the newest trade at once. */
  readonly sendsNewest: boolean;
  /** Frames sent regularly, or only when nothing else was sent in that time. */
  readonly heartbeat?: {
    everyMs: number;
    onlyIdle: boolean;
    frames(subscriptions: readonly Subscription[], nowMs: number): string[];
  };
  readonly pong?: string;
  /** The frame before the venue closes connections by itself, if it sends one. */
  readonly notice?: string;
}
