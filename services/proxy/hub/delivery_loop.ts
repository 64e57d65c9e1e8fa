import { clearImmediate, setImmediate } from "node:timers";
import { type Clock, Timers } from "../../../lib/clock.ts";
import type { Hub } from "./hub.ts";

/**
 * The runtime's socket does not report when it has capacity again, so clients that are behind are
 * retried at this interval. A client that reads 50 MB/s empties its queue in that time.
 */
const RETRY_EVERY_MS = 5;

/** Clients that are retried at once: that takes 0.1 ms if none of them reads. */
const RETRIED_AT_ONCE = 512;

/** Turns of the event loop after which notifications are sent even if more keep arriving. */
const FLUSH_TURNS_MAX = 3;

/** Interval of the search for expired subscribes. */
const SWEEP_EVERY_MS = 1_000;

/** The part of a hub that is called here. */
type DrivenHub = Pick<Hub, "clientsBehind" | "flush" | "catchUp" | "sweep">;

/** Calls a hub, which has no clock: to flush, to sweep, and for clients that are behind. */
export class DeliveryLoop {
  readonly #hub: DrivenHub;
  readonly #clock: Clock;
  readonly #timers: Timers;
  /** The coming flush, if there is one. */
  #flush: ReturnType<typeof setImmediate> | undefined;
  /** Whether notifications arrived since the end of the last turn of the event loop. */
  #isArriving = false;
  #isRetrying = false;

  constructor(hub: DrivenHub, clock: Clock) {
    this.#hub = hub;
    this.#clock = clock;
    this.#timers = new Timers(clock);
  }

  /** Sweeps the hub from now on. */
  start(): void {
    this.#timers.after(SWEEP_EVERY_MS, () => {
      this.#hub.sweep(this.#clock.now());
      this.start();
    });
  }

  stop(): void {
    clearImmediate(this.#flush);
    this.#timers.clear();
  }

  /**
   * Call it for each frame of the node. Sends new notifications after the first turn of the event
   * loop in which none arrive. Those that arrive together are sent together: a second round to
   * thousands of clients would take as long again.
   */
  flushSoon(): void {
    this.#isArriving = true;
    if (this.#flush === undefined) this.#flushAfter(FLUSH_TURNS_MAX);
  }

  #flushAfter(turns: number): void {
    this.#flush = setImmediate(() => {
      const isArriving = this.#isArriving;
      this.#isArriving = false;
      if (isArriving && turns > 1) return this.#flushAfter(turns - 1);
      this.#flush = undefined;
      this.#hub.flush();
      this.#catchUpSoon();
    });
  }

  #catchUpSoon(): void {
    const hub = this.#hub;
    if (this.#isRetrying || hub.clientsBehind.size === 0) return;
    this.#isRetrying = true;
    this.#timers.after(RETRY_EVERY_MS, () => {
      this.#isRetrying = false;
      const clients = [...hub.clientsBehind].slice(0, RETRIED_AT_ONCE);
      for (const client of clients) hub.catchUp(client);
      this.#catchUpSoon();
    });
  }
}
