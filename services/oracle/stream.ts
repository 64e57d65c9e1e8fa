import type { Print, Provider } from "./provider.ts";

/** What a print is to the ones before it. */
export type PrintOrder = "next" | "gap" | "restart" | "late";

/** Prints that keep coming with an exchange time that stands still this long are not trusted. */
export const STUCK_TIME_MS = 10_000;

/** A trade that a heartbeat tells of may be this late before it counts as lost. */
export const MISSED_AFTER_MS = 2_000;

/** One market of one connection: whether it is subscribed, and how its prints run. */
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
   * How far the exchange's time lay behind the receipt of the last print, in milliseconds: slow frames
   * or a wrong clock, here or there, which would make it negative.
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
   * Takes a print and says how it stands to the ones before. A number that falls is a restart of the
   * exchange's count if its time moves on, else something from before: its price is old.
   */
  take(print: Print, nowMs: number): PrintOrder {
    const moves = print.exchangeTimeMs > this.#exchangeTimeMs;
    this.#exchangeTimeMs = Math.max(this.#exchangeTimeMs, print.exchangeTimeMs);
    this.#stillSinceMs = moves ? undefined : this.#stillSinceMs ?? nowMs;
    const order = this.#order(print, moves);
    if (order === "late") return order;
    this.#lastPrintAtMs = nowMs;
    this.#lagMs = nowMs - print.exchangeTimeMs;
    this.#sequence = print.sequence;
    this.#behindSinceMs = undefined;
    return order;
  }

  #order({ sequence, exchangeTimeMs }: Print, moves: boolean): PrintOrder {
    const last = this.#sequence;
    if (sequence === undefined) return exchangeTimeMs < this.#exchangeTimeMs ? "late" : "next";
    if (last === undefined) return "next";
    if (sequence <= last) return moves && sequence < last ? "restart" : "late";
    return this.#sequencing === "by_one" && sequence > last + 1 ? "gap" : "next";
  }

  /** Whether prints have kept coming for {@link STUCK_TIME_MS} without their time moving. */
  stuck(nowMs: number): boolean {
    return this.#stillSinceMs !== undefined && nowMs - this.#stillSinceMs >= STUCK_TIME_MS;
  }

  /**
   * Hears from a heartbeat which trade is the newest.
   *
   * @returns True if that trade should have come by now; it is then taken as lost, and said once.
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

  /** How long this subscription has brought nothing, in milliseconds; undefined if not subscribed. */
  silentMs(nowMs: number): number | undefined {
    if (this.#acknowledgedAtMs === undefined) return undefined;
    return nowMs - (this.#lastPrintAtMs ?? this.#acknowledgedAtMs);
  }
}
