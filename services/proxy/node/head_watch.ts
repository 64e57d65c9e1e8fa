import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { Head } from "./head.ts";

const log = serviceLog("proxy");

/** How long a notification may lag behind a head that is visible over HTTP. */
const CONFIRM_MS = 1_000;

/** Options of a {@link HeadWatch}. */
export interface HeadWatchOptions {
  clock: Clock;
  /** How long `newHeads` may be silent before the head is read, in milliseconds. */
  silenceMs: number;
  /** Whether the node has granted a subscription to `newHeads`. */
  isSubscribed: () => boolean;
  /** Reads the newest block number over another connection than the watched one. */
  readHead: () => Promise<number>;
  /** Closes the connection. */
  drop: (reason: string) => void;
}

/**
 * Detects a node that is connected but silent. Only `newHeads` notifies regularly: while a client is
 * subscribed to it and no head arrives, the chain's head is read over HTTP. If it advanced without a
 * notification, the connection is replaced. An idle chain has no effect.
 */
export class HeadWatch {
  readonly #options: HeadWatchOptions;
  /** The newest block that was announced, or read when watching began. */
  #newestHead: number | undefined;
  #lastHeadAtMs = 0;
  /** Time of the last announced head when the chain was first seen ahead of it. */
  #suspectSinceMs: number | undefined;
  #cancel: CancelTimer | undefined;
  #stopped = false;

  constructor(options: HeadWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.restart();
    this.#cancel = this.#checkAfter(this.#options.silenceMs);
  }

  /** A new connection: earlier announcements do not apply to it. */
  restart(): void {
    this.#newestHead = this.#suspectSinceMs = undefined;
    this.#lastHeadAtMs = this.#options.clock.now();
  }

  /** A head was announced; one in an unknown form is still a sign of life. */
  announced(head: Head | undefined): void {
    this.#lastHeadAtMs = this.#options.clock.now();
    if (head !== undefined) this.#newestHead = head.number;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #checkAfter(delayMs: number): CancelTimer {
    return this.#options.clock.after(delayMs, () => {
      this.#check().catch((error: unknown) => {
        log.debug("Head of the read node could not be read: {error}", { error: messageOf(error) });
      }).finally(() => {
        if (this.#stopped) return;
        const waitMs = this.#suspectSinceMs === undefined ? this.#options.silenceMs : CONFIRM_MS;
        this.#cancel = this.#checkAfter(waitMs);
      });
    });
  }

  async #check(): Promise<void> {
    const { clock, silenceMs, isSubscribed, readHead, drop } = this.#options;
    const suspectSinceMs = this.#suspectSinceMs;
    this.#suspectSinceMs = undefined;
    const lastHeadAtMs = this.#lastHeadAtMs;
    const silentMs = clock.now() - lastHeadAtMs;
    if (silentMs < silenceMs || !isSubscribed()) return;
    if (suspectSinceMs === lastHeadAtMs) {
      drop(`no new head for ${silentMs} ms while the chain went on`);
      return;
    }
    const head = await readHead();
    if (this.#lastHeadAtMs !== lastHeadAtMs) return;
    if (this.#newestHead === undefined) this.#newestHead = head;
    else if (head > this.#newestHead) this.#suspectSinceMs = lastHeadAtMs;
  }
}
