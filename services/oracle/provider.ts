import { z } from "zod";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import { parsePrice } from "../../lib/protocol/price.ts";

/** One price as a source told it: a trade, or a ticker that carries the last trade. */
export interface Print {
  /** The exchange's own name of the market. */
  symbol: string;
  /** Integer with 6 decimals. */
  price: bigint;
  /** The exchange's clock, Unix milliseconds. It shows whether a stream moves, never freshness. */
  exchangeTimeMs: number;
  /** The exchange's number of this trade in its market; undefined where it sends none. */
  sequence?: number;
}

/**
 * Why a frame gave no price; the values of a metric's label. `late` is a print that was there before,
 * or came after a newer one.
 */
export const DROP_REASONS = [
  "too_long",
  "not_json",
  "unknown_shape",
  "bad_price",
  "unknown_market",
  "late",
] as const;

/** One of {@link DROP_REASONS}. */
export type DropReason = (typeof DROP_REASONS)[number];

/** What one frame of an exchange says. */
export type Frame =
  | { kind: "prints"; prints: readonly Print[] }
  /** Subscribed to these symbols; without symbols, to all that were asked for. */
  | { kind: "acknowledged"; symbols?: readonly string[] }
  /** Not subscribed to these symbols; without symbols, it does not say to which. */
  | { kind: "refused"; symbols?: readonly string[]; reason: string }
  /** The connection lives; `newest` is the number of the last trade that the exchange has sent. */
  | { kind: "alive"; newest?: { symbol: string; sequence: number } }
  /** The exchange is about to close this connection, or has stopped trading. */
  | { kind: "closing"; reason: string }
  | { kind: "dropped"; reason: DropReason };

/** How it is seen that a connection or one of its streams is dead though the socket is open. */
export interface LivenessRule {
  /** A connection without any frame for this long is dead, in milliseconds. */
  silenceMs: number;
  /** A stream without a trade for this long gets a new connection, in milliseconds. */
  streamSilenceMs: number;
  /** Text that the exchange answers, sent after `afterMs` of silence. */
  ping?: { afterMs: number; text: string };
}

/** One exchange: its endpoint and its wire format, with no state and no I/O. */
export interface Provider {
  readonly name: ProviderName;
  /** The public endpoint. */
  readonly url: string;
  /** The exchange's name of a market such as `BTC/USDT`. */
  symbolOf(market: string): string;
  /** The frames that subscribe to these symbols. */
  subscribeFrames(symbols: readonly string[]): string[];
  /** Reads one frame; never throws. */
  parse(text: string): Frame;
  /**
   * How {@link Print.sequence} runs in one market: `by_one` without gaps; `rising` where trades are
   * joined and only a heartbeat shows a loss; `none` where there is no number.
   */
  readonly sequence: "by_one" | "rising" | "none";
  readonly liveness: LivenessRule;
  /** Waits between connections, in milliseconds, where the venue wants longer ones than usual. */
  readonly reconnect?: { initialMs: number; maxMs: number };
  /** A connection is replaced at this age, in milliseconds, before the exchange ends it. */
  readonly lifetimeMs?: number;
}

/** Reads one shape of frame; undefined for any other shape. */
export type FrameReader = (value: unknown) => Frame | undefined;

/** A reader of frames that fit `schema`. */
export function reader<S extends z.ZodType>(
  schema: S,
  toFrame: (value: z.output<S>) => Frame,
): FrameReader {
  return (value) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? toFrame(parsed.data) : undefined;
  };
}

/** Reads JSON text by the first reader that knows its shape: the most frequent one comes first. */
export function readFrame(text: string, readers: readonly FrameReader[]): Frame {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "dropped", reason: "not_json" };
  }
  for (const read of readers) {
    const frame = read(value);
    if (frame !== undefined) return frame;
  }
  return { kind: "dropped", reason: "unknown_shape" };
}

/** A print whose price is still the digits of the frame. */
export type RawPrint = Omit<Print, "price"> & { digits: string };

/** The frame of these prints; one price that is none drops the whole frame. */
export function printsFrame(raw: readonly RawPrint[]): Frame {
  const prints: Print[] = [];
  for (const { digits, ...print } of raw) {
    const price = parsePrice(digits);
    if (price === undefined) return { kind: "dropped", reason: "bad_price" };
    prints.push({ ...print, price });
  }
  return { kind: "prints", prints };
}

/** An ISO 8601 time, given in Unix milliseconds. */
export const isoTimeSchema = z.string().transform((text) => Date.parse(text))
  .refine((timeMs) => !Number.isNaN(timeMs));
