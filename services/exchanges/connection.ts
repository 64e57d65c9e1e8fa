import { type Clock, Timers } from "../../lib/clock.ts";
import { RateWindow } from "../../lib/rate_window.ts";
import type { ClientFrame, Dialect, NumberedTrade } from "./dialects/dialect.ts";
import { type ExchangeFault, SHUTDOWN_NOTICE_MS, SLOW_MS, WRONG_CLOCK_MS } from "./faults.ts";
import type { TradeLog } from "./trade_log.ts";

export interface Peer {
  send(text: string): void;
  close(code: number, reason: string): void;
}

/** The part of an exchange that a connection uses. */
export interface ExchangeState {
  readonly dialect: Dialect;
  hasFault(fault: ExchangeFault): boolean;
  /** Trades of a market by the exchange's own symbol; undefined for an unknown market. */
  log(symbol: string): TradeLog | undefined;
  /** Counts a subscribe frame. @returns False if it is over the limit. */
  tryAddSubscription(): boolean;
}

interface ExchangeConnectionOptions {
  exchange: ExchangeState;
  peer: Peer;
  clock: Clock;
  onEnd(): void;
}

/** Most frames waiting to be sent; a client this far behind is disconnected. */
const FRAMES_WAITING_MAX = 50_000;

/** Longest frame accepted from a client: real frames subscribe to a few markets. */
const CLIENT_FRAME_CHARS_MAX = 16 * 1024;

const BROKEN_FRAME = '{"price": "1.0", "broken';

/** One client of an exchange: its subscriptions and the frames queued for it. */
export class ExchangeConnection {
  readonly #options: ExchangeConnectionOptions;
  readonly #subscribed = new Set<string>();
  readonly #timers: Timers;
  readonly #messages: RateWindow | undefined;
  /** Delayed frames, each with a timer. Any timer that fires sends the oldest frame. */
  #waiting: string[] = [];
  #lastDueAtMs = 0;
  #lastSentAtMs: number;
  #lastReceivedAtMs: number;
  #stuckAtMs: number | undefined;
  /** Frame of the last published trade. */
  #lastPublished: string | undefined;
  #hasEnded = false;

  constructor(options: ExchangeConnectionOptions) {
    this.#options = options;
    const { exchange, clock } = options;
    this.#timers = new Timers(clock);
    this.#lastSentAtMs = this.#lastReceivedAtMs = clock.now();
    const { messages } = exchange.dialect.limits;
    this.#messages = messages && new RateWindow(messages);
  }

  /** Starts the timers of limits and heartbeats, and applies faults that are already active. */
  start(): void {
    const { exchange } = this.#options;
    if (exchange.hasFault("close")) this.#timers.after(0, () => this.applyFault("close"));
    if (exchange.hasFault("shutdown")) this.applyFault("shutdown");
    const { heartbeat, limits: { subscribeWithinMs, lifetimeMs, idleMs } } = exchange.dialect;
    if (subscribeWithinMs !== undefined) {
      this.#timers.after(subscribeWithinMs, () => {
        if (this.#subscribed.size === 0) this.close(1008, "Not subscribed in time");
      });
    }
    if (lifetimeMs !== undefined) this.#timers.after(lifetimeMs, () => this.close(1001, "Too old"));
    if (idleMs !== undefined) this.#watchIdle(idleMs);
    if (heartbeat !== undefined) this.#timers.after(heartbeat.everyMs, () => this.#sendHeartbeat());
  }

  receive(text: string): void {
    if (this.#hasEnded) return;
    this.#lastReceivedAtMs = this.#options.clock.now();
    if (this.#messages?.tryAdd(this.#lastReceivedAtMs) === false) {
      return this.close(1008, "Too many messages");
    }
    if (text.length > CLIENT_FRAME_CHARS_MAX) return this.close(1009, "Frame too long");
    const frame = this.#options.exchange.dialect.read(text);
    if (frame.kind === "subscribe") return this.#subscribe(frame);
    const { dialect } = this.#options.exchange;
    if (frame.kind === "ping") {
      if (dialect.pong !== undefined) this.#send(dialect.pong);
      return;
    }
    for (const answer of dialect.refuse([], frame.reason, undefined)) this.#send(answer);
  }

  /** Stops all timers: the client has disconnected. */
  closed(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#timers.clear();
    this.#waiting = [];
    this.#options.onEnd();
  }

  close(code: number, reason: string): void {
    if (this.#hasEnded) return;
    this.closed();
    this.#options.peer.close(code, reason);
  }

  applyFault(fault: ExchangeFault): void {
    if (fault === "close") this.close(1011, "Fault on demand");
    if (fault !== "shutdown") return;
    const { shutdownNotice } = this.#options.exchange.dialect;
    if (shutdownNotice !== undefined) this.#send(shutdownNotice);
    this.#timers.after(SHUTDOWN_NOTICE_MS, () => this.close(1012, "Service restart"));
  }

  /** Publishes a trade to the client if it is subscribed to its market. */
  publish(symbol: string, trade: NumberedTrade): void {
    if (!this.#subscribed.has(symbol)) return;
    const { exchange } = this.#options;
    if (exchange.hasFault("garbage")) this.#send(BROKEN_FRAME);
    const text = exchange.dialect.trade(symbol, { ...trade, timeMs: this.#exchangeTime(trade) });
    this.#send(text);
    if (exchange.hasFault("duplicate") && this.#lastPublished !== undefined) {
      this.#send(this.#lastPublished);
    }
    this.#lastPublished = text;
  }

  #exchangeTime(trade: NumberedTrade): number {
    const { exchange } = this.#options;
    if (exchange.hasFault("stuck_time")) return this.#stuckAtMs ??= trade.timeMs;
    this.#stuckAtMs = undefined;
    return exchange.hasFault("wrong_clock") ? trade.timeMs + WRONG_CLOCK_MS : trade.timeMs;
  }

  #subscribe({ symbols, id }: Extract<ClientFrame, { kind: "subscribe" }>): void {
    const { exchange } = this.#options;
    const { dialect } = exchange;
    if (exchange.hasFault("no_ack")) return;
    if (!exchange.tryAddSubscription()) {
      for (const answer of dialect.refuse(symbols, "Too many requests", id)) this.#send(answer);
      return;
    }
    const unknown = symbols.filter((symbol) => exchange.log(symbol) === undefined);
    const refused = exchange.hasFault("refuse") ? symbols : unknown;
    const added = symbols.filter((symbol) => !refused.includes(symbol));
    if (refused.length > 0) {
      const reason = `${refused.join(", ")} is not a valid product`;
      for (const answer of dialect.refuse(refused, reason, id)) this.#send(answer);
    }
    if (added.length === 0) return;
    for (const symbol of added) this.#subscribed.add(symbol);
    for (const answer of dialect.acknowledge(added, [...this.#subscribed], id)) this.#send(answer);
    if (!dialect.sendsNewest) return;
    for (const symbol of added) {
      const newest = exchange.log(symbol)?.newest;
      if (newest !== undefined) this.publish(symbol, newest);
    }
  }

  #watchIdle(idleMs: number): void {
    const silentMs = this.#options.clock.now() -
      Math.max(this.#lastSentAtMs, this.#lastReceivedAtMs);
    if (silentMs >= idleMs) return this.close(1001, "Idle");
    this.#timers.after(idleMs - silentMs, () => this.#watchIdle(idleMs));
  }

  #sendHeartbeat(): void {
    const { exchange, clock } = this.#options;
    const { heartbeat } = exchange.dialect;
    if (heartbeat === undefined) return;
    const idleMs = Math.abs(clock.now() - this.#lastSentAtMs); // a clock may be set back
    if (!heartbeat.onlyIdle || idleMs >= heartbeat.everyMs) {
      const subscriptions = [...this.#subscribed].map((symbol) => ({
        symbol,
        newest: exchange.log(symbol)?.newest,
      }));
      for (const frame of heartbeat.frames(subscriptions, clock.now())) this.#send(frame);
    }
    this.#timers.after(heartbeat.everyMs, () => this.#sendHeartbeat());
  }

  /** Sends a frame after all earlier ones, with this exchange's delay. */
  #send(text: string): void {
    const { exchange, clock } = this.#options;
    if (exchange.hasFault("stall") || this.#hasEnded) return;
    if (this.#waiting.length >= FRAMES_WAITING_MAX) return this.close(1008, "Client too slow");
    const nowMs = clock.now();
    const delayMs = exchange.dialect.delayMs + (exchange.hasFault("slow") ? SLOW_MS : 0);
    // Bounded, since the clock may have been set back.
    const lastDueAtMs = Math.min(this.#lastDueAtMs, nowMs + exchange.dialect.delayMs + SLOW_MS);
    this.#lastDueAtMs = Math.max(lastDueAtMs, nowMs + delayMs);
    this.#waiting.push(text);
    this.#timers.after(this.#lastDueAtMs - nowMs, () => this.#sendOldest());
  }

  #sendOldest(): void {
    const text = this.#waiting.shift();
    if (text === undefined) return;
    this.#lastSentAtMs = this.#options.clock.now();
    this.#options.peer.send(text);
  }
}
