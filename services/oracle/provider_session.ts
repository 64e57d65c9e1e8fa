import { type Clock, Timers } from "../../lib/clock.ts";
import { exchangeSymbol, type Market } from "../../lib/protocol/markets.ts";
import type { DropReason, Frame, Provider, ReceivedTrade } from "./providers/provider.ts";
import { MarketStream } from "./market_stream.ts";

/** Faults of connections and streams; the names are values of a metric's label. */
export const FAULTS = {
  not_opened: "the connection could not be opened in time",
  closed: "the exchange closed the connection",
  silent: "the connection is open but delivers no frames",
  not_acknowledged: "some markets were not acknowledged in time",
  refused: "the exchange refused a subscription",
  stream_silent: "a subscribed market delivers no trades on a working connection",
  stuck_time: "prices keep arriving, but the exchange's time does not advance",
  shutdown_notice: "the exchange will close the connection soon, or has stopped trading",
  lifetime: "the connection reached the age at which it is renewed",
} as const;

export type SessionFault = keyof typeof FAULTS;

/** The response to a fault: `drop` closes the connection, `log` only counts and logs. */
type Remedy = "drop" | "log";

export interface SessionHandlers {
  onTrade(market: string, price: bigint): void;
  /** The last price of this market is still the exchange's last trade. */
  onConfirmed?(market: string): void;
  /** The exchange has nothing to send in any market. */
  onIdle?(): void;
  /** Called once, when every market was acknowledged or refused, at least one acknowledged. */
  onSubscribed(): void;
  onFault(fault: SessionFault, remedy: Remedy, detail: string): void;
  /** A frame or a trade gave no price. */
  onFrameDropped?(reason: DropReason): void;
}

interface ProviderSessionOptions {
  provider: Provider;
  markets: readonly Market[];
  clock: Clock;
  send(text: string): void;
  handlers: SessionHandlers;
}

/**
 * A subscription has failed if it is not acknowledged within this time, in milliseconds. It is less
 * than any exchange's `silenceMs`, so that the fault is `not_acknowledged` and not `silent`.
 */
const ACKNOWLEDGE_MS = 2_500;

/** Markets that were not acknowledged are requested again after this time, in milliseconds. */
const RETRY_REFUSED_MS = 300_000;

/** Longest frame that is read; the largest real one has under 2,000 characters. */
const EXCHANGE_FRAME_CHARS_MAX = 65_536;

/** Longest detail of a fault, which may quote the exchange: it is logged every few seconds. */
const DETAIL_CHARS_MAX = 200;

/** A stream that is silent for this many times its `streamSilenceMs` ends the connection. */
const SILENCES_MAX = 3;

/**
 * One open connection: subscribes, reads frames, and tracks the ages of the connection, of each
 * subscription and of each market's last trade separately. It detects faults and decides the
 * remedy, which its owner applies.
 */
export class ProviderSession {
  readonly #options: ProviderSessionOptions;
  readonly #streams: Map<string, MarketStream>;
  readonly #timers: Timers;
  readonly openedAtMs: number;
  #lastFrameAtMs: number;
  #isSubscribed = false;
  #hasEnded = false;
  #refusalReason: string | undefined;

  constructor(options: ProviderSessionOptions) {
    this.#options = options;
    const { provider, markets, clock } = options;
    this.#timers = new Timers(clock);
    this.openedAtMs = this.#lastFrameAtMs = clock.now();
    this.#streams = new Map(
      markets.map((market) => [
        exchangeSymbol(market, provider.name),
        new MarketStream(market.symbol),
      ]),
    );
  }

  get lastFrameAtMs(): number {
    return this.#lastFrameAtMs;
  }

  get streams(): MarketStream[] {
    return [...this.#streams.values()];
  }

  /** Whether {@link SessionHandlers.onSubscribed} has been called. */
  get isSubscribed(): boolean {
    return this.#isSubscribed;
  }

  start(): void {
    const { provider } = this.#options;
    this.#request([...this.#streams.keys()]);
    this.#timers.after(ACKNOWLEDGE_MS, () => this.#acknowledgeOverdue());
    const { lifetimeMs, liveness } = provider;
    if (lifetimeMs !== undefined) {
      this.#timers.after(
        lifetimeMs,
        () => this.#reportFault("lifetime", "drop", `connected for ${lifetimeMs} ms`),
      );
    }
    if (liveness.ping !== undefined) this.#watchIdle(liveness.ping);
  }

  /** Ends the session: no handler is called afterwards. */
  end(): void {
    this.#hasEnded = true;
    this.#timers.clear();
  }

  receive(text: string): void {
    const { provider, handlers } = this.#options;
    this.#lastFrameAtMs = this.#options.clock.now();
    if (text.length > EXCHANGE_FRAME_CHARS_MAX) return handlers.onFrameDropped?.("too_long");
    const frame = provider.parse(text);
    switch (frame.kind) {
      case "trades":
        for (const trade of frame.trades) {
          // A trade may end the session; the rest of its frame is ignored.
          if (!this.#hasEnded) this.#receiveTrade(trade);
        }
        return;
      case "acknowledged":
        return this.#acknowledge(frame.symbols ?? [...this.#streams.keys()]);
      case "refused":
        return this.#onRefused(frame.symbols ?? [], frame.reason);
      case "alive":
        return this.#onAlive(frame);
      case "closing":
        return this.#reportFault("shutdown_notice", "drop", frame.reason);
      case "dropped":
        return handlers.onFrameDropped?.(frame.reason);
    }
  }

  #receiveTrade(trade: ReceivedTrade): void {
    const { handlers } = this.#options;
    const stream = this.#streams.get(trade.symbol);
    if (stream === undefined) return handlers.onFrameDropped?.("unknown_market");
    const isNew = stream.add(trade, this.#lastFrameAtMs);
    if (isNew) handlers.onTrade(stream.market, trade.price);
    else handlers.onFrameDropped?.("late");
    if (stream.isStuck(this.#lastFrameAtMs)) {
      this.#reportFault("stuck_time", "drop", `${stream.market} stays at ${trade.exchangeTimeMs}`);
    }
  }

  #acknowledge(symbols: readonly string[]): void {
    for (const symbol of symbols) this.#streams.get(symbol)?.acknowledge(this.#lastFrameAtMs);
    this.#concludeIfAnswered();
  }

  #onRefused(symbols: readonly string[], reason: string): void {
    this.#refusalReason = reason;
    for (const symbol of symbols) this.#streams.get(symbol)?.refuse();
    this.#reportFault("refused", "log", reason);
    this.#concludeIfAnswered();
  }

  #concludeIfAnswered(): void {
    if (this.streams.every((stream) => stream.isAnswered)) this.#conclude();
  }

  /** Acknowledges markets that have trades: the exchange's acknowledgement may have been lost. */
  #acknowledgeOverdue(): void {
    for (const stream of this.streams) {
      if (stream.lastTradeAtMs !== undefined) stream.acknowledge(stream.lastTradeAtMs);
    }
    this.#conclude();
  }

  /** Ends the subscription phase: every market has an answer, or the time for it is over. */
  #conclude(): void {
    if (this.#isSubscribed) return;
    const missing = this.streams.filter((stream) => !stream.isAcknowledged);
    const isAnyAcknowledged = missing.length < this.#streams.size;
    this.#isSubscribed = isAnyAcknowledged;
    if (missing.length > 0) {
      const names = missing.map((stream) => stream.market).join(", ");
      const detail = `${names}: ${this.#refusalReason ?? `no answer in ${ACKNOWLEDGE_MS} ms`}`;
      if (!isAnyAcknowledged) return this.#reportFault("not_acknowledged", "drop", detail);
      this.#reportFault("not_acknowledged", "log", detail);
      this.#timers.after(RETRY_REFUSED_MS, () => this.#requestMissing());
    }
    this.#options.handlers.onSubscribed();
    this.#watchStreams();
  }

  #request(symbols: readonly string[]): void {
    const { provider, send } = this.#options;
    for (const frame of provider.subscribeFrames(symbols)) send(frame);
  }

  /** Requests refused or unacknowledged markets again: the exchange may have them by now. */
  #requestMissing(): void {
    const missing = [...this.#streams].filter(([, stream]) => !stream.isAcknowledged)
      .map(([symbol]) => symbol);
    if (missing.length === 0) return;
    this.#request(missing);
    this.#timers.after(RETRY_REFUSED_MS, () => this.#requestMissing());
  }

  #onAlive({ newest, idle }: Extract<Frame, { kind: "alive" }>): void {
    const { handlers } = this.#options;
    if (idle) handlers.onIdle?.();
    if (newest === undefined) return;
    const stream = this.#streams.get(newest.symbol);
    if (stream?.confirms(newest.sequence)) handlers.onConfirmed?.(stream.market);
  }

  /** Requests silent markets again, in case their subscription was lost. */
  #watchStreams(): void {
    const { clock, provider: { liveness: { streamSilenceMs } } } = this.#options;
    let nextMs = streamSilenceMs;
    for (const [symbol, stream] of this.#streams) {
      const silentMs = stream.silentMs(clock.now());
      if (silentMs === undefined) continue;
      if (silentMs < streamSilenceMs) {
        nextMs = Math.min(nextMs, streamSilenceMs - silentMs);
        continue;
      }
      const remedy = silentMs < SILENCES_MAX * streamSilenceMs ? "log" : "drop";
      this.#reportFault("stream_silent", remedy, `${stream.market} for ${silentMs} ms`);
      if (remedy === "drop") return;
      this.#request([symbol]);
    }
    this.#timers.after(nextMs, () => this.#watchStreams());
  }

  #watchIdle(ping: { afterMs: number; text: string }): void {
    const { clock, send } = this.#options;
    const idleMs = Math.abs(clock.now() - this.#lastFrameAtMs); // a clock may be set back
    if (idleMs >= ping.afterMs) send(ping.text);
    const waitMs = idleMs >= ping.afterMs ? ping.afterMs : ping.afterMs - idleMs;
    this.#timers.after(waitMs, () => this.#watchIdle(ping));
  }

  #reportFault(fault: SessionFault, remedy: Remedy, detail: string): void {
    this.#options.handlers.onFault(fault, remedy, detail.slice(0, DETAIL_CHARS_MAX));
  }
}
