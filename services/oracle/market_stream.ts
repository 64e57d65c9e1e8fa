import type { ReceivedTrade } from "./providers/provider.ts";

/** A stream is stuck if its exchange time does not advance for this long while trades arrive. */
const STUCK_TIME_MS = 10_000;

/**
 * One market of one connection: its subscription, and the age of its trades. A clock may be set
 * back, so times count as past also if they are ahead.
 */
export class MarketStream {
  readonly market: string;
  #acknowledgedAtMs: number | undefined;
  #isRefused = false;
  #lastTradeAtMs: number | undefined;
  #lagMs: number | undefined;
  #exchangeTimeMs = -Infinity;
  #stillSinceMs: number | undefined;
  #sequence: number | undefined;

  constructor(market: string) {
    this.market = market;
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
   * Records a trade. Trades may be missing before it: only the newest price counts.
   *
   * @returns Whether its price is new; false for a repeated or older trade.
   */
  add(trade: ReceivedTrade, nowMs: number): boolean {
    const advances = trade.exchangeTimeMs > this.#exchangeTimeMs;
    this.#exchangeTimeMs = Math.max(this.#exchangeTimeMs, trade.exchangeTimeMs);
    this.#stillSinceMs = advances ? undefined : this.#stillSinceMs ?? nowMs;
    if (!this.#isNew(trade, advances)) return false;
    this.#lastTradeAtMs = nowMs;
    this.#lagMs = nowMs - trade.exchangeTimeMs;
    this.#sequence = trade.sequence;
    return true;
  }

  #isNew({ sequence, exchangeTimeMs }: ReceivedTrade, advances: boolean): boolean {
    const last = this.#sequence;
    if (sequence === undefined) return exchangeTimeMs >= this.#exchangeTimeMs;
    if (last === undefined || sequence > last) return true;
    // A lower number with a later time: the exchange's numbering has restarted.
    return advances && sequence < last;
  }

  /** Whether the exchange time has not advanced for {@link STUCK_TIME_MS} while trades arrived. */
  isStuck(nowMs: number): boolean {
    return this.#stillSinceMs !== undefined &&
      Math.abs(nowMs - this.#stillSinceMs) >= STUCK_TIME_MS;
  }

  /** Whether the last price belongs to the trade that a heartbeat reports as the newest. */
  confirms(newest: number): boolean {
    return newest === this.#sequence;
  }

  /** Time without a trade, in milliseconds; undefined if not subscribed. */
  silentMs(nowMs: number): number | undefined {
    if (this.#acknowledgedAtMs === undefined) return undefined;
    return Math.abs(nowMs - (this.#lastTradeAtMs ?? this.#acknowledgedAtMs));
  }
}
