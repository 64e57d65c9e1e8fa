import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import {
  type CancelTimer,
  type Clock,
  type NodePrice,
  type PriceHistory,
  type RangemakerClient,
  SLOT_MS,
} from "@rangemaker/client";
import { messageOf } from "../../../../lib/errors.ts";
import { toNumber } from "../parts/format.ts";
import { POINTS_MAX, PriceSeries } from "./price_series.ts";
import type { ServerClock } from "./server_clock.ts";

/**
 * Prices arrive ten times a second. In a longer pause the page was disconnected or asleep, or the node
 * had no prices: an operator may fill them in later.
 */
const PAUSE_MAX_MS = 1_000;

/** Pauses between attempts to load prices: they double. */
const RETRY_MS = { first: 1_000, last: 600_000 };

/** How far back the page reads prices, if the node has them: as many as it keeps. */
export const HISTORY_MAX_MS = POINTS_MAX * SLOT_MS;

/** Time that one request for history covers. */
const PAGE_MS = 600_000;

/** Whether a market accepts bets, as far as the page knows. */
export type PriceState = "fresh" | "stale" | "missing" | "away" | "connecting";

interface PriceFeedOptions {
  client: Pick<RangemakerClient, "history" | "watchPrices">;
  symbols: readonly string[];
  serverClock: ServerClock;
  clock: Clock;
  /** Called when the feed has connected or reconnected. */
  onConnected(): void;
  /** Called when the chain went back (`core_revert`); the feed has deleted its prices. */
  onReverted(): void;
}

/** The connection hangs if no price arrives for this long: normally there are ten a second. */
const SILENT_MS = 5_000;

/** Prices that arrive this soon after the loss of the network were sent before it. */
const IN_FLIGHT_MS = 2_000;

/** Before the first message. */
const NOT_RECEIVED: Readonly<Record<string, NodePrice>> = {};

/** Live prices of all markets from a subscription, and the part of their history that is shown. */
export class PriceFeed {
  /** Newest price of each market, by symbol. */
  readonly latest: Signal<Readonly<Record<string, NodePrice>>> = signal(NOT_RECEIVED);
  readonly isLive: Signal<boolean> = signal(false);
  /** Why no prices arrive; undefined while they do, and during the first connection attempt. */
  readonly problem: Signal<string | undefined> = signal(undefined);
  /** The device has lost its network. Later prices disprove it: services may be on this device. */
  readonly isOffline: Signal<boolean> = signal(false);
  /** The connection is lost: here or at the service, which a page cannot always tell apart. */
  readonly isAway = computed(() =>
    this.isOffline.value || this.#isSilent.value ||
    !this.isLive.value && this.problem.value !== undefined
  );
  /** Markets whose history was requested: either it has been loaded, or it cannot be. */
  readonly loaded: Signal<ReadonlySet<string>> = signal(new Set());
  /** Prices have stopped arriving, for example because the node hangs. */
  readonly #isSilent: Signal<boolean> = signal(false);
  #cancelSilence: CancelTimer = () => {};
  #offlineAtMs = 0;
  readonly #options: PriceFeedOptions;
  readonly #series: ReadonlyMap<string, PriceSeries>;
  /** Computed once per market, so that users of a state are not updated with each price. */
  readonly #states: ReadonlyMap<string, ReadonlySignal<PriceState>>;
  /** The slot of the last message. */
  #newestSlot = 0;
  /** Start of the loaded history, by market. */
  readonly #loadedFrom = new Map<string, number>();
  /** How far back the waiting attempt reads, by market: one, however often the page has asked. */
  readonly #retryFrom = new Map<string, number>();
  /** Aborted when the chain is replaced: what is being loaded belongs to the old one. */
  #chain = new AbortController();

  constructor(options: PriceFeedOptions) {
    this.#options = options;
    const { symbols } = options;
    this.#series = new Map(symbols.map((symbol) => [symbol, new PriceSeries()]));
    this.#states = new Map(
      symbols.map((symbol) => [symbol, computed(() => this.#readState(symbol))]),
    );
  }

  start(): void {
    this.#options.client.watchPrices({
      onPrices: (prices) => this.#receive(prices),
      onState: (state, reason) => {
        this.isLive.value = state === "live";
        this.problem.value = reason;
        if (state === "live") this.#options.onConnected();
      },
    });
  }

  /** The browser reports that the device has lost its network, or has it again. */
  setOnline(isOnline: boolean): void {
    this.#offlineAtMs = this.#options.clock.now();
    this.isOffline.value = !isOnline;
  }

  /** The state of a market: `fresh`, or why it has no fresh price. */
  stateOf(symbol: string): PriceState {
    return this.#states.get(symbol)?.value ?? "missing";
  }

  #readState(symbol: string): PriceState {
    if (this.isAway.value) return "away";
    if (!this.isLive.value || this.latest.value === NOT_RECEIVED) return "connecting";
    return this.latest.value[symbol]?.state ?? "missing";
  }

  /** The prices of a market. The series is updated in place. */
  seriesOf(symbol: string): PriceSeries {
    const series = this.#series.get(symbol);
    if (series === undefined) throw new TypeError(`No market ${symbol}`);
    return series;
  }

  /** Deletes all prices, because they belong to a chain that no longer exists. */
  clear(): void {
    for (const series of this.#series.values()) series.clear();
    this.#loadedFrom.clear();
    this.#retryFrom.clear();
    this.loaded.value = new Set();
    this.#chain.abort();
    this.#chain = new AbortController();
  }

  /**
   * Loads history of a market back to a time, as far as the node has it; newest first, and again if
   * it fails.
   */
  async readFrom(symbol: string, fromMs: number, retryMs = RETRY_MS.first): Promise<void> {
    const { signal } = this.#chain;
    const { serverClock } = this.#options;
    const nowMs = serverClock.now();
    const wanted = Math.max(fromMs, nowMs - HISTORY_MAX_MS);
    for (;;) {
      const to = this.#loadedFrom.get(symbol) ?? nowMs;
      if (to <= wanted || !this.isLive.value) return;
      const from = Math.max(wanted, to - PAGE_MS);
      // Set before the request, so that no other caller repeats it; reset if it fails.
      this.#loadedFrom.set(symbol, from);
      const isDone = await this.#load(symbol, from, to) !== "failed";
      // The same time back from now, on the chain as it is now.
      if (signal.aborted) return this.readFrom(symbol, serverClock.now() - (nowMs - fromMs));
      if (to === nowMs) this.loaded.value = new Set([...this.loaded.value, symbol]);
      if (!isDone) {
        // If newer prices, which another call asked for, are not there either, from now again.
        if (to === nowMs || !this.#loadedFrom.has(symbol)) this.#loadedFrom.delete(symbol);
        else this.#loadedFrom.set(symbol, to);
        return this.#retryLater(symbol, fromMs, retryMs);
      }
    }
  }

  /** Reads history that has failed again, together with all that fails meanwhile. */
  #retryLater(symbol: string, fromMs: number, retryMs: number): void {
    if (retryMs > RETRY_MS.last) return;
    const waiting = this.#retryFrom.get(symbol);
    this.#retryFrom.set(symbol, Math.min(waiting ?? fromMs, fromMs));
    if (waiting !== undefined) return;
    const { signal } = this.#chain;
    this.#options.clock.after(retryMs, () => {
      if (signal.aborted) return;
      const from = this.#retryFrom.get(symbol) ?? fromMs;
      this.#retryFrom.delete(symbol);
      void this.readFrom(symbol, from, 2 * retryMs);
    });
  }

  /** Loads the prices of a gap, again and again while the node does not have them. */
  async #fill(symbol: string, fromMs: number, toMs: number, retryMs: number): Promise<void> {
    const { serverClock, clock } = this.#options;
    const { signal } = this.#chain;
    const from = Math.max(fromMs, serverClock.now() - HISTORY_MAX_MS);
    if (from >= toMs || await this.#load(symbol, from, toMs) === "complete") return;
    if (retryMs > RETRY_MS.last) return;
    clock.after(retryMs, () => {
      if (!signal.aborted) void this.#fill(symbol, fromMs, toMs, 2 * retryMs);
    });
  }

  /** @returns Whether it was loaded, and had all prices. */
  async #load(
    symbol: string,
    fromMs: number,
    toMs: number,
  ): Promise<"complete" | "incomplete" | "failed"> {
    const { signal } = this.#chain;
    let history: PriceHistory;
    try {
      history = await this.#options.client.history(symbol, Math.floor(fromMs), Math.ceil(toMs));
    } catch (thrown) {
      console.info(`History of ${symbol} was not loaded: ${messageOf(thrown)}`);
      return "failed";
    }
    if (signal.aborted) return "failed";
    this.seriesOf(symbol).merge(
      history.prices.map(({ time, price }) => ({ time, price: toNumber(price) })),
    );
    const isComplete = history.missing.every(({ from, to }) => to - from <= PAUSE_MAX_MS);
    return isComplete ? "complete" : "incomplete";
  }

  #receive(prices: Record<string, NodePrice>): void {
    const { serverClock, clock } = this.#options;
    if (clock.now() - this.#offlineAtMs >= IN_FLIGHT_MS) this.isOffline.value = false;
    this.#isSilent.value = false;
    this.#cancelSilence();
    this.#cancelSilence = clock.after(SILENT_MS, () => this.#isSilent.value = true);
    const fresh = Object.entries(prices).filter(([, { state }]) => state === "fresh");
    // When it was sent, by the node's clock: a message that arrives late is no price of the slot in
    // which it arrives. A stale price tells the time, too: without it, deadlines would be compared
    // with the device's clock.
    const [first] = Object.values(prices);
    const sentAtMs = first === undefined ? 0 : first.lastUpdate + first.ageMs;
    const slot = Math.floor(sentAtMs / SLOT_MS) * SLOT_MS;
    if (first !== undefined) {
      serverClock.observe(sentAtMs);
      const isReverted = this.#newestSlot - slot > PAUSE_MAX_MS;
      this.#newestSlot = slot;
      if (isReverted) {
        this.clear();
        this.#options.onReverted();
      }
    }
    for (const [symbol, { price }] of fresh) {
      const series = this.#series.get(symbol);
      const newest = series?.times.at(-1) ?? slot;
      if (slot - newest > PAUSE_MAX_MS && this.#loadedFrom.has(symbol)) {
        void this.#fill(symbol, newest, slot, RETRY_MS.first);
      }
      series?.append(slot, toNumber(price));
    }
    this.latest.value = prices;
  }
}
