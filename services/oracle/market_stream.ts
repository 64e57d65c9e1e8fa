import type { Provider, ReceivedTrade } from "./providers/provider.ts";

/**
 * How a trade follows the previous one. `next`: in order. `gap`: after a lost message. `restart`:
 * the exchange's numbering has restarted. `late`: a repeated or older trade.
 */
export type TradeOrder = "next" | "gap" | "restart" | "late";

/** A stream is stuck if its exchange time does not advance for this long while trades arrive. */
const STUCK_TIME_MS = 10_000;

/** How long a trade that a heartbeat reports may take to arrive before it counts as lost. */
const MISSED_AFTER_MS = 2_000;

/** One market of one connection: its subscription, and the order and age of its trades. */
export class MarketStream {
  readonly market: string;
  readonly #sequencing: Provider["sequence"];
  #acknowledgedAtMs: number | undefined;
  #isRefused = false;
  #lastTradeAtMs: number | undefined;
  #lagMs: number | undefined;
  #exchangeTimeMs = -Infinity;
  #stillSinceMs: number | undefined;
  #sequence: number | undefined;
  /** Number of the last trade whose price was passed on. */
  #pricedSequence: number | undefined;
  #behindSinceMs: number | undefined;

  constructor(market: string, sequencing: Provider["sequence"]) {
    this.market = market;
    this.#sequencing = sequencing;
  }

  /** When the subscription was acknowledged, Unix milliseconds; undefined if it was not. */
  get acknowledgedAtMs(): number | undefined {
    return this.#acknowledgedAtMs;
  }

  /** When the last trade came, Unix milliseconds; undefined before the first. */
  get lastTradeAtMs(): number | undefined {
    return this.#lastTradeAtMs;
  }

  /**
   * Time from the exchange's timestamp to the receipt of the last trade, in milliseconds. A slow
   * network makes it large. If the clocks differ, it can be negative.
   */
  get lagMs(): number | undefined {
    return this.#lagMs;
  }

  get isAcknowledged(): boolean {
    return this.#acknowledgedAtMs !== undefined;
  }

  get isAnswered(): boolean {
    return this.isAcknowledged || this.#isRefused;
  }

  acknowledge(nowMs: number): void {
    this.#acknowledgedAtMs ??= nowMs;
  }

  refuse(): void {
    this.#isRefused = true;
  }

  /**
   * Records a trade and classifies it. If the number is lower but the time advances, the exchange's
   * numbering has restarted; otherwise the trade and its price are old.
   */
  add(trade: ReceivedTrade, nowMs: number): TradeOrder {
    const advances = trade.exchangeTimeMs > this.#exchangeTimeMs;
    this.#exchangeTimeMs = Math.max(this.#exchangeTimeMs, trade.exchangeTimeMs);
    this.#stillSinceMs = advances ? undefined : this.#stillSinceMs ?? nowMs;
    const order = this.#order(trade, advances);
    if (order === "late") return order;
    this.#lastTradeAtMs = nowMs;
    this.#lagMs = nowMs - trade.exchangeTimeMs;
    this.#sequence = this.#pricedSequence = trade.sequence;
    this.#behindSinceMs = undefined;
    return order;
  }

  #order({ sequence, exchangeTimeMs }: ReceivedTrade, advances: boolean): TradeOrder {
    const last = this.#sequence;
    if (sequence === undefined) return exchangeTimeMs < this.#exchangeTimeMs ? "late" : "next";
    if (last === undefined) return "next";
    if (sequence <= last) return advances && sequence < last ? "restart" : "late";
    return this.#sequencing === "by_one" && sequence > last + 1 ? "gap" : "next";
  }

  /** Whether the exchange time has not advanced for {@link STUCK_TIME_MS} while trades arrived. */
  isStuck(nowMs: number): boolean {
    return this.#stillSinceMs !== undefined && nowMs - this.#stillSinceMs >= STUCK_TIME_MS;
  }

  /** Whether the last price belongs to the trade that a heartbeat reports as the newest. */
  confirms(newest: number): boolean {
    return newest === this.#pricedSequence;
  }

  /**
   * Records the number of the newest trade, as a heartbeat reports it.
   *
   * @returns True if that trade is overdue. It then counts as lost and is reported only once.
   */
  recordNewest(newest: number, nowMs: number): boolean {
    if (this.#sequence !== undefined && newest <= this.#sequence) {
      this.#behindSinceMs = undefined;
      return false;
    }
    this.#behindSinceMs ??= nowMs;
    if (nowMs - this.#behindSinceMs < MISSED_AFTER_MS) return false;
    this.#sequence = newest;
    this.#behindSinceMs = undefined;
    return true;
  }

  /** Time without a trade, in milliseconds; undefined if not subscribed. */
  silentMs(nowMs: number): number | undefined {
    if (this.#acknowledgedAtMs === undefined) return undefined;
    return nowMs - (this.#lastTradeAtMs ?? this.#acknowledgedAtMs);
  }
}
