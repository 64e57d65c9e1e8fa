import { type Signal, signal } from "@preact/signals";
import { z } from "zod";
import type { NodePrice, PriceHistory, RangemakerClient } from "../../../../lib/client/mod.ts";
import type { Clock, RandomSource } from "../../../../lib/clock.ts";
import { messageOf } from "../../../../lib/errors.ts";
import { Backoff } from "../../../../lib/net/backoff.ts";
import { RpcSubscriber, subscription } from "../../../../lib/net/rpc_subscriber.ts";
import { SLOT_MS } from "../../../../lib/protocol/constants.ts";
import { nodePriceSchema } from "../../../../lib/protocol/price.ts";
import { toNumber } from "../format.ts";
import { PriceSeries } from "./price_series.ts";
import type { ServerClock } from "./server_clock.ts";

/** The node sends prices ten times a second: silence means that it is gone. */
const SILENCE_MS = 4_000;

/** A page that was away is live within 5 s. */
const RECONNECT = { initialMs: 100, maxMs: 3_000 };

/** What is shown first; more is loaded when a longer time is chosen. */
const FIRST_HISTORY_MS = 90_000;

/** The node's ring, and one page of its history. */
const HISTORY_MAX_MS = 65_536 * SLOT_MS;
const PAGE_MS = 600_000;

const pricesSchema = z.record(z.string(), nodePriceSchema);

/** What a {@link PriceFeed} works with. */
export interface PriceFeedOptions {
  /** JSON-RPC over WebSocket. */
  url: string;
  client: Pick<RangemakerClient, "history">;
  /** The markets. */
  symbols: readonly string[];
  clock: Clock;
  serverClock: ServerClock;
  random: RandomSource;
  /** The feed is connected: for the first time, or again. */
  onConnected(): void;
}

/** Live prices of all markets by subscription, and their history as far as it is shown. */
export class PriceFeed {
  /** Newest price of each market, by symbol. */
  readonly latest: Signal<Record<string, NodePrice>> = signal({});
  /** Whether prices arrive. */
  readonly isLive: Signal<boolean> = signal(false);
  /** Why they do not; undefined while they do, and while the page connects for the first time. */
  readonly problem: Signal<string | undefined> = signal(undefined);
  readonly #options: PriceFeedOptions;
  readonly #series: ReadonlyMap<string, PriceSeries>;
  /** Where the loaded history of a market begins. */
  readonly #loadedFrom = new Map<string, number>();
  readonly #subscriber: RpcSubscriber;
  #lostAtMs: number | undefined;

  constructor(options: PriceFeedOptions) {
    const { url, symbols, clock, random } = options;
    this.#options = options;
    this.#series = new Map(symbols.map((symbol) => [symbol, new PriceSeries()]));
    this.#subscriber = new RpcSubscriber({
      url,
      clock,
      backoff: new Backoff({ ...RECONNECT, random }),
      silenceMs: SILENCE_MS,
      subscriptions: [subscription(["prices"], pricesSchema, (prices) => this.#take(prices))],
      onSubscribed: () => {
        this.isLive.value = true;
        this.problem.value = undefined;
        options.onConnected();
        void this.#fillGaps();
      },
      onLost: (reason) => {
        this.#lostAtMs ??= options.serverClock.now();
        this.isLive.value = false;
        this.problem.value = reason;
      },
    });
  }

  start(): void {
    this.#subscriber.start();
  }

  /** The prices of a market, which change as time passes. */
  seriesOf(symbol: string): PriceSeries {
    const series = this.#series.get(symbol);
    if (series === undefined) throw new TypeError(`No market ${symbol}`);
    return series;
  }

  /** Forgets all prices: they are of a chain that is gone. */
  clear(): void {
    for (const series of this.#series.values()) series.clear();
    this.#loadedFrom.clear();
  }

  /** Loads history of a market back to a time, as far as the node has it; newest first. */
  async loadFrom(symbol: string, fromMs: number): Promise<void> {
    const nowMs = this.#options.serverClock.now();
    const wanted = Math.max(fromMs, nowMs - HISTORY_MAX_MS);
    for (;;) {
      const to = this.#loadedFrom.get(symbol) ?? nowMs;
      if (to <= wanted || !this.isLive.value) return;
      const from = Math.max(wanted, to - PAGE_MS);
      // Set first, so that nobody else asks for the same; taken back if it fails.
      this.#loadedFrom.set(symbol, from);
      if (!await this.#load(symbol, from, to)) {
        this.#loadedFrom.set(symbol, to);
        return;
      }
    }
  }

  async #fillGaps(): Promise<void> {
    const nowMs = this.#options.serverClock.now();
    const lostAtMs = this.#lostAtMs;
    this.#lostAtMs = undefined;
    for (const symbol of this.#series.keys()) {
      const isKnown = this.#loadedFrom.has(symbol) && lostAtMs !== undefined;
      if (isKnown) await this.#load(symbol, lostAtMs - SILENCE_MS, nowMs);
      else await this.loadFrom(symbol, nowMs - FIRST_HISTORY_MS);
    }
  }

  /** @returns False if it could not be loaded. */
  async #load(symbol: string, fromMs: number, toMs: number): Promise<boolean> {
    let history: PriceHistory;
    try {
      history = await this.#options.client.history(symbol, Math.floor(fromMs), Math.ceil(toMs));
    } catch (thrown) {
      console.info(`History of ${symbol} was not loaded: ${messageOf(thrown)}`);
      return false;
    }
    this.seriesOf(symbol).merge(
      history.prices.map(({ time, price }) => ({ time, price: toNumber(price) })),
    );
    return true;
  }

  #take(prices: Record<string, NodePrice>): void {
    const fresh = Object.entries(prices).filter(([, { state }]) => state === "fresh");
    const [first] = fresh;
    if (first !== undefined) {
      this.#options.serverClock.observe(first[1].lastUpdate + first[1].ageMs);
    }
    const slot = Math.floor(this.#options.serverClock.now() / SLOT_MS) * SLOT_MS;
    for (const [symbol, { price }] of fresh) {
      this.#series.get(symbol)?.append(slot, toNumber(price));
    }
    this.latest.value = prices;
  }
}
