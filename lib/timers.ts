import type { CancelTimer, Clock } from "./clock.ts";

/** The timers of one object, so that they can be cancelled together. */
export class Timers {
  readonly #clock: Clock;
  readonly #pending = new Set<CancelTimer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `task` once, `delayMs` from now, unless {@link clear} comes first. */
  after(delayMs: number, task: () => void): void {
    const cancel = this.#clock.after(delayMs, () => {
      this.#pending.delete(cancel);
      task();
    });
    this.#pending.add(cancel);
  }

  /** Cancels all pending timers. */
  clear(): void {
    for (const cancel of this.#pending) cancel();
    this.#pending.clear();
  }
}

/**
 * Waits for work, but not longer than `timeoutMs`; the work continues after that.
 *
 * @returns The work's result, or `late`.
 */
export async function withinMs<T, L>(
  work: PromiseLike<T>,
  timeoutMs: number,
  late: L,
): Promise<T | L> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<L>((resolve) => {
    timer = setTimeout(() => resolve(late), timeoutMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
