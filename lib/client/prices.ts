import * as z from "zod/mini";
import { Backoff } from "../timing/backoff.ts";
import { createSubscription, RpcSubscriber } from "../net/rpc_subscriber.ts";
import { type NodePrice, nodePriceSchema } from "../protocol/price.ts";
import { requireWebSocket, type WatchContext } from "./context.ts";
import type { WatchState } from "./theses.ts";

/** Callbacks of a {@link PriceWatch}; they must not throw. */
export interface PriceHandlers {
  /** The newest price of every market, by symbol: ten times a second. */
  onPrices(prices: Record<string, NodePrice>): void;
  /**
   * Called when prices start or stop arriving; `reason` is why they stopped. The watch reconnects.
   */
  onState?(state: WatchState, reason?: string): void;
}

/** Short waits: old prices are worth little. */
const PRICE_RECONNECT = { initialMs: 100, maxMs: 3_000 };

/** The node sends prices ten times a second, so silence means a dead connection. */
const PRICE_SILENCE_MS = 4_000;

const pricesSchema = z.record(z.string(), nodePriceSchema);

/** Live prices of all markets. Made by `RangemakerClient.watchPrices`. */
export class PriceWatch {
  readonly #subscriber: RpcSubscriber;
  #state: WatchState = "connecting";

  constructor(
    { urls, clock, connect, random }: WatchContext,
    { onPrices, onState }: PriceHandlers,
  ) {
    requireWebSocket(connect);
    this.#subscriber = new RpcSubscriber({
      url: urls.proxyWs,
      clock,
      connect,
      backoff: new Backoff({ ...PRICE_RECONNECT, random }),
      silenceMs: PRICE_SILENCE_MS,
      subscriptions: [createSubscription(["prices"], pricesSchema, onPrices)],
      onLive: () => {
        this.#state = "live";
        onState?.("live");
      },
      onLost: (reason) => {
        this.#state = "connecting";
        onState?.("connecting", reason);
      },
    });
    this.#subscriber.start();
  }

  /** Whether prices arrive now; `closed` after {@link close}. */
  get state(): WatchState {
    return this.#state;
  }

  /**
   * Ends the watch for good.
   *
   * @example
   * ```ts
   * const prices = client.watchPrices({ onPrices: (prices) => console.log(Object.keys(prices)) });
   * prices.close();
   * ```
   */
  close(): void {
    this.#state = "closed";
    void this.#subscriber.stop();
  }
}
