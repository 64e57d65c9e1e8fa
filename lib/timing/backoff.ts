import type { RandomSource } from "../random.ts";

/**
 * The longest wait before a service of our own is tried again, in milliseconds. With jitter, a
 * restarted service is retried every 1 to 2 s, so it is used again about 1 s after it returns.
 */
export const SERVICE_WAIT_MAX_MS = 2_000;

/** How the waits between attempts grow. */
interface BackoffOptions {
  /** The first wait before jitter, in milliseconds. */
  initialMs: number;
  /** The longest wait before jitter, in milliseconds. */
  maxMs: number;
  random: RandomSource;
}

/**
 * Exponential backoff with equal jitter: each wait is between half and all of a value that doubles
 * from `initialMs` to `maxMs`, so that many clients of a restarted server do not return together.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #attempts = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** The next wait, in milliseconds. */
  nextMs(): number {
    const { initialMs, maxMs, random } = this.#options;
    const fullMs = Math.min(maxMs, initialMs * 2 ** this.#attempts);
    this.#attempts += 1;
    return Math.round(fullMs / 2 + random() * fullMs / 2);
  }

  /** Starts again from `initialMs`; called when the other side works again. */
  reset(): void {
    this.#attempts = 0;
  }
}
