import { type Signal, signal } from "@preact/signals";
import { type Clock, type PriceHistory, type RangemakerClient, SLOT_MS } from "@rangemaker/client";
import { messageOf } from "../../../../lib/errors.ts";
import { toNumber } from "../parts/format.ts";
import { POINTS_MAX, PriceSeries } from "./price_series.ts";

/** Prices arrive ten times a second. In a longer pause the page was disconnected or asleep. */
export const PAUSE_MAX_MS = 1_000;

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

/** The prices of one market: live ones, and the recorded ones before and between them. */
export class MarketHistory {
  readonly series = new PriceSeries();
  /** It was requested: either it has been loaded, or it cannot be. */
  readonly isLoaded: Signal<boolean> = signal(false);
  readonly #options: MarketHistoryOptions;
  /** Start of the loaded history; undefined if there is none. */
  #loadedFromMs: number | undefined;
  /** How far back the waiting attempt reads: one, however often the page has asked. */
  #retryFromMs: number | undefined;
  /** Aborted when the chain is replaced: what is being loaded belongs to the old one. */
  #chain = new AbortController();

  constructor(options: MarketHistoryOptions) {
    this.#options = options;
  }

  /** Adds a live price, and loads those that were missed before it. */
  append(slot: number, price: number): void {
    const newest = this.series.times.at(-1) ?? slot;
    if (slot - newest > PAUSE_MAX_MS && this.#loadedFromMs !== undefined) {
      this.#loadedFromMs = undefined;
      void this.readFrom(newest);
    }
    this.series.append(slot, price);
  }

  /** Deletes all prices, because they belong to a chain that no longer exists. */
  clear(): void {
    this.series.clear();
    this.#loadedFromMs = this.#retryFromMs = undefined;
    this.isLoaded.value = false;
    this.#chain.abort();
    this.#chain = new AbortController();
  }

  /**
   * Loads history back to a time, as far as the node has it; newest first, and again if it fails.
   */
  async readFrom(fromMs: number, retryMs = RETRY_MS.first): Promise<void> {
    const { signal } = this.#chain;
    const { serverClock, isLive } = this.#options;
    const nowMs = serverClock.now();
    const wanted = Math.max(fromMs, nowMs - HISTORY_MAX_MS);
    for (;;) {
      const to = this.#loadedFromMs ?? nowMs;
      if (to <= wanted || !isLive()) return;
      const from = Math.max(wanted, to - PAGE_MS);
      // Set before the request, so that no other caller repeats it; reset if it fails.
      this.#loadedFromMs = from;
      const isDone = await this.#load(from, to);
      // The same time back from now, on the chain as it is now.
      if (signal.aborted) return this.readFrom(serverClock.now() - (nowMs - fromMs));
      if (to === nowMs) this.isLoaded.value = true;
      if (isDone) continue;
      // If newer prices, which another call asked for, are not there either, from now again.
      const isNewestMissing = to === nowMs || this.#loadedFromMs === undefined;
      this.#loadedFromMs = isNewestMissing ? undefined : to;
      return this.#retryLater(fromMs, retryMs);
    }
  }

  /** Reads history that has failed again, together with all that fails meanwhile. */
  #retryLater(fromMs: number, retryMs: number): void {
    if (retryMs > RETRY_MS.last) return;
    const waiting = this.#retryFromMs;
    this.#retryFromMs = Math.min(waiting ?? fromMs, fromMs);
    if (waiting !== undefined) return;
    const { signal } = this.#chain;
    this.#options.clock.after(retryMs, () => {
      if (signal.aborted) return;
      const from = this.#retryFromMs ?? fromMs;
      this.#retryFromMs = undefined;
      void this.readFrom(from, 2 * retryMs);
    });
  }

  /** @returns Whether it was loaded. */
  async #load(fromMs: number, toMs: number): Promise<boolean> {
    const { signal } = this.#chain;
    const { client, symbol } = this.#options;
    let history: PriceHistory;
    try {
      history = await client.history(symbol, Math.floor(fromMs), Math.ceil(toMs));
    } catch (thrown) {
      console.info(`History of ${symbol} was not loaded: ${messageOf(thrown)}`);
      return false;
    }
    if (signal.aborted) return false;
    this.series.merge(history.prices.map(({ time, price }) => ({ time, price: toNumber(price) })));
    return true;
  }
}
