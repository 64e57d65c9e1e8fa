import { type Signal, signal } from "@preact/signals";
import {
  type CancelTimer,
  type Clock,
  type PriceHistory,
  type RangemakerClient,
  SLOT_MS,
} from "@rangemaker/client";
import { messageOf } from "../../../../lib/errors.ts";
import { toNumber } from "../parts/format.ts";
import { POINTS_MAX, PriceSeries } from "./price_series.ts";

/** Prices arrive ten times a second. In a longer pause the page was disconnected or asleep. */
const PAUSE_MAX_MS = 1_000;

/** Pauses between attempts to load prices: they double. */
const RETRY_MS = { first: 1_000, last: 600_000 };

/** How far back the page reads prices, if the node has them: as many as it keeps. */
const HISTORY_MAX_MS = POINTS_MAX * SLOT_MS;

/** Time that one request for history covers. */
const PAGE_MS = 600_000;

interface MarketHistoryOptions {
  symbol: string;
  client: Pick<RangemakerClient, "history">;
  /** Whether the node can be asked now. */
  isLive(): boolean;
  serverClock: Pick<Clock, "now">;
  clock: Clock;
}

/** A span of time whose recorded prices are to be loaded; Infinity is now. */
interface Span {
  fromMs: number;
  toMs: number;
}

/** The prices of one market: live ones, and the recorded ones before and between them. */
export class MarketHistory {
  /** Its prices are updated in place; another one after {@link clear}. */
  series = new PriceSeries();
  /** It was requested: either it has been loaded, or it cannot be. */
  readonly isLoaded: Signal<boolean> = signal(false);
  readonly #options: MarketHistoryOptions;
  /** What is to be loaded, the newest last; what fails stays. */
  readonly #missing: Span[] = [];
  /** How far back the page has asked; Infinity before it has. */
  #askedFromMs = Infinity;
  #isReading = false;
  #cancelRetry: CancelTimer = () => {};

  constructor(options: MarketHistoryOptions) {
    this.#options = options;
  }

  /** Adds a live price, and loads those that were missed before it. */
  append(slot: number, price: number): void {
    const newest = this.series.times.at(-1) ?? slot;
    this.series.append(slot, price);
    if (slot - newest <= PAUSE_MAX_MS || this.#askedFromMs === Infinity) return;
    this.#missing.push({ fromMs: Math.max(newest, slot - HISTORY_MAX_MS), toMs: slot });
    void this.#readMissing();
  }

  /** Deletes all prices, because they belong to a chain that no longer exists. */
  clear(): void {
    this.series = new PriceSeries();
    this.#missing.length = 0;
    this.#askedFromMs = Infinity;
    this.#isReading = false; // what is being loaded is of the old series
    this.#cancelRetry();
    this.isLoaded.value = false;
  }

  /**
   * Loads history back to a time, as far as the node has it; newest first, and again if it fails.
   * Resolves when it is loaded or has failed, or at once if other history is being loaded.
   */
  async readFrom(fromMs: number): Promise<void> {
    const wanted = Math.max(fromMs, this.#options.serverClock.now() - HISTORY_MAX_MS);
    if (wanted < this.#askedFromMs) {
      this.#missing.unshift({ fromMs: wanted, toMs: this.#askedFromMs });
      this.#askedFromMs = wanted;
    }
    await this.#readMissing();
  }

  /** Loads what is missing, one request at a time. */
  async #readMissing(retryMs = RETRY_MS.first): Promise<void> {
    if (this.#isReading) return;
    this.#cancelRetry();
    this.#isReading = true;
    const { series } = this;
    const { serverClock, isLive, clock } = this.#options;
    const backMs = serverClock.now() - this.#askedFromMs;
    let isDone = true;
    while (isDone && isLive() && series === this.series) {
      const span = this.#missing.at(-1);
      if (span === undefined) break;
      isDone = await this.#readPage(span);
    }
    // The same time back from now, on the chain as it is now.
    if (series !== this.series) return this.readFrom(serverClock.now() - backMs);
    this.#isReading = false;
    if (isDone || retryMs > RETRY_MS.last) return;
    this.#cancelRetry = clock.after(retryMs, () => void this.#readMissing(2 * retryMs));
  }

  /** Loads the newest part of a span. @returns Whether it was loaded. */
  async #readPage(span: Span): Promise<boolean> {
    const { series } = this;
    const { client, symbol, serverClock } = this.#options;
    const toMs = Math.min(span.toMs, serverClock.now());
    const fromMs = Math.max(span.fromMs, toMs - PAGE_MS);
    let history: PriceHistory | undefined;
    try {
      history = await client.history(symbol, Math.floor(fromMs), Math.ceil(toMs));
    } catch (thrown) {
      console.info(`History of ${symbol} was not loaded: ${messageOf(thrown)}`);
    }
    if (series !== this.series) return false;
    this.isLoaded.value = true;
    if (history === undefined) return false;
    series.merge(history.prices.map(({ time, price }) => ({ time, price: toNumber(price) })));
    span.toMs = fromMs;
    if (fromMs === span.fromMs) this.#missing.splice(this.#missing.indexOf(span), 1);
    return true;
  }
}
