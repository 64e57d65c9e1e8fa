import type { Print, Provider } from "./provider.ts";

/**
 * How a print follows the one before: in order, after a lost message, after a restart of the
 * exchange's numbering, or as a repeat or an older print.
 */
export type PrintOrder = "next" | "gap" | "restart" | "late";

/** A stream whose exchange time does not advance for this long while prints arrive is stuck. */
export const STUCK_TIME_MS = 10_000;

/** How long a trade that a heartbeat names may take to arrive before it counts as lost. */
export const MISSED_AFTER_MS = 2_000;

/** One market of one connection: its subscription, and the order and age of its prints. */
export class Stream {
  readonly market: string;
  readonly #sequencing: Provider["sequence"];
  #acknowledgedAtMs: number | undefined;
  #refused = false;
  #lastPrintAtMs: number | undefined;
  #lagMs: number | undefined;
  #exchangeTimeMs = -Infinity;
  #stillSinceMs: number | undefined;
  #sequence: number | undefined;
  /** Number of the print whose price was passed on last. */
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

  /** When the last print came, Unix milliseconds; undefined before the first. */
  get lastPrintAtMs(): number | undefined {
    return this.#lastPrintAtMs;
  }

  /**
   * Time from the exchange's timestamp to the receipt of the last print, in milliseconds. A slow
   * network makes it large; clocks that disagree can make it negative.
   */
  get lagMs(): number | undefined {
    return this.#lagMs;
  }

  get acknowledged(): boolean {
    return this.#acknowledgedAtMs !== undefined;
  }

  get answered(): boolean {
    return this.acknowledged || this.#refused;
  }

  acknowledge(nowMs: number): void {
    this.#acknowledgedAtMs ??= nowMs;
  }

  refuse(): void {
    this.#refused = true;
  }

  /**
   * Takes a print and classifies it. A lower number is a restart of the exchange's numbering if its
   * time advances; otherwise the print is old, and so is its price.
   */
  add(print: Print, nowMs: number): PrintOrder {
    const advances = print.exchangeTimeMs > this.#exchangeTimeMs;
    this.#exchangeTimeMs = Math.max(this.#exchangeTimeMs, print.exchangeTimeMs);
    this.#stillSinceMs = advances ? undefined : this.#stillSinceMs ?? nowMs;
    const order = this.#order(print, advances);
    if (order === "late") return order;
    this.#lastPrintAtMs = nowMs;
    this.#lagMs = nowMs - print.exchangeTimeMs;
    this.#sequence = this.#pricedSequence = print.sequence;
    this.#behindSinceMs = undefined;
    return order;
  }

  #order({ sequence, exchangeTimeMs }: Print, advances: boolean): PrintOrder {
    const last = this.#sequence;
    if (sequence === undefined) return exchangeTimeMs < this.#exchangeTimeMs ? "late" : "next";
    if (last === undefined) return "next";
    if (sequence <= last) return advances && sequence < last ? "restart" : "late";
    return this.#sequencing === "by_one" && sequence > last + 1 ? "gap" : "next";
  }

  /** Whether the exchange time has not advanced for {@link STUCK_TIME_MS} while prints arrived. */
  stuck(nowMs: number): boolean {
    return this.#stillSinceMs !== undefined && nowMs - this.#stillSinceMs >= STUCK_TIME_MS;
  }

  /** Whether the last print's price is that of the trade that a heartbeat names as the newest. */
  confirms(newest: number): boolean {
    return newest === this.#pricedSequence;
  }

  /**
   * Notes which trade a heartbeat names as the newest.
   *
   * @returns True if that trade is overdue. It then counts as lost and is reported only once.
   */
  missed(newest: number, nowMs: number): boolean {
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

  /** Time without a print, in milliseconds; undefined if not subscribed. */
  silentMs(nowMs: number): number | undefined {
    if (this.#acknowledgedAtMs === undefined) return undefined;
    return nowMs - (this.#lastPrintAtMs ?? this.#acknowledgedAtMs);
  }
}
