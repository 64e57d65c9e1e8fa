import { setImmediate } from "node:timers";
import type { Clock } from "../../../lib/clock.ts";
import { Timers } from "../../../lib/timers.ts";
import type { Hub } from "./hub.ts";
import type { Delivery } from "./hub_client.ts";

/**
 * The runtime's socket does not report when it has room again. So clients that are behind are checked
 * after each flush, and at this interval while they read.
 */
const RESUME_READING_MS = 1;

/** The same for clients that do not read. */
const RESUME_EVERY_MS = 20;

/** Clients that are checked together, so that a check of thousands is cheap per client. */
const RESUMED_AT_ONCE = 256;

/** Turns of the event loop after which notifications are sent even if more keep arriving. */
const FLUSH_TURNS_MAX = 3;

/** Interval of the search for expired subscribes. */
const SWEEP_EVERY_MS = 1_000;

/** Calls a hub, which has no clock, when something is due: a flush, a client that is behind, a sweep. */
export class DeliveryLoop implements Delivery {
  readonly #hub: Hub;
  readonly #clock: Clock;
  readonly #timers: Timers;
  #isFlushing = false;
  /** Whether notifications arrived since the end of the last turn of the event loop. */
  #isArriving = false;
  #isResuming = false;
  #isResumingReaders = false;

  constructor(hub: Hub, clock: Clock) {
    this.#hub = hub;
    this.#clock = clock;
    this.#timers = new Timers(clock);
  }

  start(): void {
    this.#timers.after(SWEEP_EVERY_MS, () => {
      this.#hub.sweep(this.#clock.now());
      this.start();
    });
  }

  stop(): void {
    this.#timers.clear();
  }

  /**
   * Sends new notifications after the first turn of the event loop without further ones, so that those
   * that the node sent together are sent together: a second round to thousands of clients would take
   * as long again.
   */
  flushSoon(): void {
    this.#isArriving = true;
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.#flushAfter(FLUSH_TURNS_MAX);
  }

  #flushAfter(turns: number): void {
    setImmediate(() => {
      const isArriving = this.#isArriving;
      this.#isArriving = false;
      if (isArriving && turns > 1) return this.#flushAfter(turns - 1);
      this.#isFlushing = false;
      this.#hub.flush();
      this.#resumeReaders();
      this.resumeSoon();
    });
  }

  resumeSoon(): void {
    if (!this.#isResuming && this.#hub.behind.size > 0) {
      this.#isResuming = true;
      this.#timers.after(RESUME_EVERY_MS, () => {
        this.#isResuming = false;
        for (const client of [...this.#hub.behind]) this.#hub.resume(client);
        this.resumeSoon();
      });
    }
    if (!this.#isResumingReaders && this.#hub.reading.size > 0) {
      this.#isResumingReaders = true;
      this.#timers.after(RESUME_READING_MS, () => {
        this.#isResumingReaders = false;
        this.#resumeReaders();
        this.resumeSoon();
      });
    }
  }

  /** Retries the clients that read, those that waited longest first. */
  #resumeReaders(): void {
    if (this.#hub.reading.size === 0) return;
    for (const client of [...this.#hub.reading].slice(0, RESUMED_AT_ONCE)) this.#hub.resume(client);
  }
}
