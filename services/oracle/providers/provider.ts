import { z } from "zod";
import { tryParseJson } from "../../../lib/json.ts";
import type { ProviderName } from "../../../lib/protocol/providers.ts";
import { parsePrice } from "../../../lib/protocol/price.ts";

/** One price as an exchange sent it: a trade, or a ticker that carries the last trade. */
export interface ReceivedTrade {
  /** The exchange's name of the market. */
  symbol: string;
  /** Integer with 6 decimals. */
  price: bigint;
  /** Unix milliseconds of the exchange's clock. Shows progress only: ages count from receipt. */
  exchangeTimeMs: number;
  /** The exchange's number of this trade in its market; undefined if it sends none. */
  sequence?: number;
}

/** Why a frame gave no price; values of a metric's label. `late`: a repeated or outdated trade. */
export type DropReason =
  | "too_long"
  | "not_json"
  | "unknown_shape"
  | "bad_price"
  | "unknown_market"
  | "late";

export type Frame =
  | { kind: "trades"; trades: readonly ReceivedTrade[] }
  /** Subscribed to these symbols; if absent, to all requested symbols. */
  | { kind: "acknowledged"; symbols?: readonly string[] }
  /** Not subscribed to these symbols; absent if the exchange did not name them. */
  | { kind: "refused"; symbols?: readonly string[]; reason: string }
  /**
   * The connection works. `newest` is the number of the last trade in a market, and confirms the
   * price of that trade. `idle` means that no market has anything to send, which confirms no price.
   */
  | { kind: "alive"; newest?: { symbol: string; sequence: number }; idle?: true }
  /** The exchange is about to close this connection, or has stopped trading. */
  | { kind: "closing"; reason: string }
  | { kind: "dropped"; reason: DropReason };

/** When an open connection, or one of its streams, counts as dead; times in milliseconds. */
interface LivenessRule {
  /** A connection without any frame for this long is dead. */
  silenceMs: number;
  /** A market without a trade for this long is requested again. */
  streamSilenceMs: number;
  /** Text that the exchange answers, sent after `afterMs` of silence. */
  ping?: { afterMs: number; text: string };
}

/** How often an exchange may be connected to; times in milliseconds. */
export interface RetryRule {
  /** First wait after a failure. Doubles with each failure; jitter shortens it by up to half. */
  initialMs: number;
  /** Longest wait, unless the exchange's limit requires a longer one. */
  maxMs: number;
  /**
   * The exchange's limit as a token bucket: `burst` at once, then one per `refillMs`. So each
   * window in which the exchange counts has at most `burst` events, plus one per `refillMs`.
   */
  limit: { event: LimitedEvent; burst: number; refillMs: number };
}

/** The unit of an exchange's limit: attempts to connect, or subscriptions on open connections. */
export type LimitedEvent = "connections" | "subscriptions";

/** One exchange: its endpoint, wire format and rules. It has no state and does no I/O. */
export interface Provider {
  readonly name: ProviderName;
  readonly url: string;
  subscribeFrames(symbols: readonly string[]): string[];
  /** Reads one frame; never throws. */
  parse(text: string): Frame;
  readonly liveness: LivenessRule;
  readonly retry: RetryRule;
  /** A connection is renewed at this age, in milliseconds, before the exchange closes it. */
  readonly lifetimeMs?: number;
}

/** Reads frames of one shape; undefined for any other shape. */
type FrameReader = (value: unknown) => Frame | undefined;

/** A reader of frames that fit `schema`. */
export function createReader<S extends z.ZodType>(
  schema: S,
  toFrame: (value: z.output<S>) => Frame,
): FrameReader {
  return (value) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? toFrame(parsed.data) : undefined;
  };
}

/**
 * A list that is refused at its first wrong item. With an issue for each of them, a frame of 64 KiB
 * takes 0.2 s, and an exchange that sends such frames leaves the node without prices.
 */
export function listOf<S extends z.ZodType>(item: S) {
  return z.array(z.unknown()).transform((values, context): z.output<S>[] => {
    const items: z.output<S>[] = [];
    for (const value of values) {
      const { success, data } = item.safeParse(value);
      if (!success) {
        context.addIssue("An item has another shape");
        return z.NEVER;
      }
      items.push(data);
    }
    return items;
  });
}

/** Reads JSON text with the first reader that accepts it. List the most frequent shape first. */
export function readFrame(text: string, readers: readonly FrameReader[]): Frame {
  const value = tryParseJson(text);
  if (value === undefined) return { kind: "dropped", reason: "not_json" };
  for (const read of readers) {
    const frame = read(value);
    if (frame !== undefined) return frame;
  }
  return { kind: "dropped", reason: "unknown_shape" };
}

/** A trade whose price is still text of the frame. */
type RawTrade = Omit<ReceivedTrade, "price"> & { priceText: string };

/** Makes a frame of trades. One invalid price drops the whole frame. */
export function tradesFrame(raw: readonly RawTrade[]): Frame {
  const trades: ReceivedTrade[] = [];
  for (const { priceText, ...trade } of raw) {
    const price = parsePrice(priceText);
    if (price === undefined) return { kind: "dropped", reason: "bad_price" };
    trades.push({ ...trade, price });
  }
  return { kind: "trades", trades };
}

/** Parses an ISO 8601 time to Unix milliseconds. */
export const isoTimeSchema = z.string().transform((text) => Date.parse(text))
  .refine((timeMs) => !Number.isNaN(timeMs));
