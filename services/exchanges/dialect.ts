import type { ProviderName } from "../../lib/protocol/providers.ts";
import type { VenueLimits } from "./limits.ts";
import type { NumberedTrade } from "./trades.ts";

/** What a client's frame asks for. */
export type ClientFrame =
  | { kind: "subscribe"; symbols: readonly string[]; id?: unknown }
  | { kind: "ping" }
  | { kind: "invalid"; reason: string; id?: unknown };

/** A subscribed market, as heartbeats and acknowledgements tell of it. */
export interface Subscription {
  symbol: string;
  /** The newest trade of the market at this venue. */
  newest: NumberedTrade | undefined;
}

/** One exchange's way of speaking: its wire format, with no state and no I/O. */
export interface Dialect {
  readonly provider: ProviderName;
  /** Path of the WebSocket endpoint in the stand-in. */
  readonly path: string;
  /** How late this venue's frames leave it, in milliseconds. */
  readonly lateMs: number;
  readonly limits: VenueLimits;
  symbolOf(market: string): string;
  /** Reads a client's frame; never throws. */
  read(text: string): ClientFrame;
  /** Subscribed to `added`; `all` is what the connection has now. */
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
  /** Said before the venue closes connections on its own account, where it says anything. */
  readonly notice?: string;
}

/** Reads JSON text as an object of unknown fields. */
export function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // An object that is no null has string keys, whatever is behind them.
    return typeof value === "object" && value !== null
      ? value as Record<string, unknown>
      : undefined;
  } catch {
    return undefined;
  }
}
