import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import {
  type CancelTimer,
  type Clock,
  type NodePrice,
  type RangemakerClient,
  SLOT_MS,
} from "@rangemaker/client";
import { formatQuotePrice, toNumber } from "../parts/format.ts";
import { MarketHistory } from "./market_history.ts";
import type { ServerClock } from "./server_clock.ts";

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

/** Live prices of all markets from a subscription; their history is loaded on demand. */
export class PriceFeed {
  /** Newest price of each market, by symbol. */
  readonly latest: Signal<Readonly<Record<string, NodePrice>>> = signal(NOT_RECEIVED);
  /** Whether it is connected; undefined during the first attempt. */
  readonly isLive: Signal<boolean | undefined> = signal(undefined);
  /** The device has lost its network. Later prices disprove it: services may be on this device. */
  readonly isOffline: Signal<boolean> = signal(false);
  /** The connection is lost: here or at the service, which a page cannot always tell apart. */
  readonly isAway = computed(() =>
    this.isOffline.value || this.#isSilent.value || this.isLive.value === false
  );
  /** Prices have stopped arriving, for example because the node hangs. */
  readonly #isSilent: Signal<boolean> = signal(false);
  #cancelSilence: CancelTimer = () => {};
  #offlineAtMs = 0;
  readonly #options: PriceFeedOptions;
  readonly #histories: ReadonlyMap<string, MarketHistory>;
  /** Computed once per market, so that users of a state are not updated with each price. */
  readonly #states: ReadonlyMap<string, ReadonlySignal<PriceState>>;

  constructor(options: PriceFeedOptions) {
    this.#options = options;
    const { symbols } = options;
    const isLive = () => this.isLive.peek() === true;
    this.#histories = new Map(
      symbols.map((symbol) => [symbol, new MarketHistory({ ...options, symbol, isLive })]),
    );
    this.#states = new Map(
      symbols.map((symbol) => [symbol, computed(() => this.#readState(symbol))]),
    );
  }

  start(): void {
    this.#options.client.watchPrices({
      onPrices: (prices) => this.#receive(prices),
      onState: (state) => {
        this.isLive.value = state === "live";
        if (this.isLive.value) this.#options.onConnected();
      },
    });
  }

  /** The browser reports that the device has lost its network, or has it again. */
  setOnline(isOnline: boolean): void {
    this.#offlineAtMs = this.#options.clock.now();
    this.isOffline.value = !isOnline;
  }

  /** The states of all markets. */
  get states(): PriceState[] {
    return [...this.#states.values()].map(({ value }) => value);
  }

  /** The state of a market: `fresh`, or why it has no fresh price. */
  stateOf(symbol: string): PriceState {
    return this.#states.get(symbol)?.value ?? "missing";
  }

  /** Whether the newest price of a market is out of date. */
  isOld(symbol: string): boolean {
    return ["stale", "away"].includes(this.stateOf(symbol));
  }

  /** The newest price of a market as text. */
  textOf(symbol: string): string {
    const price = this.latest.value[symbol]?.price;
    return price === undefined ? "–" : formatQuotePrice(toNumber(price));
  }

  #readState(symbol: string): PriceState {
    if (this.isAway.value) return "away";
    if (!this.isLive.value || this.latest.value === NOT_RECEIVED) return "connecting";
    return this.latest.value[symbol]?.state ?? "missing";
  }

  historyOf(symbol: string): MarketHistory {
    const history = this.#histories.get(symbol);
    if (history === undefined) throw new TypeError(`No market ${symbol}`);
    return history;
  }

  /** Deletes all prices, because they belong to a chain that no longer exists. */
  clear(): void {
    for (const history of this.#histories.values()) history.clear();
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
    if (first !== undefined && serverClock.observe(sentAtMs)) {
      this.clear();
      this.#options.onReverted();
    }
    for (const [symbol, { price }] of fresh) {
      this.#histories.get(symbol)?.append(slot, toNumber(price));
    }
    this.latest.value = prices;
  }
}
