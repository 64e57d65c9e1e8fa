/** Cancels a timer; does nothing if it has fired. */
export type CancelTimer = () => void;

/**
 * The time source of all classes. Tests pass a clock that they advance themselves. What measures
 * durations gets the {@link monotonicClock}, or tolerates that the system's time is set.
 */
export interface Clock {
  /** Milliseconds: Unix time, or since the start of the process ({@link monotonicClock}). */
  now(): number;
  /** Runs `task` once, `delayMs` from now. */
  after(delayMs: number, task: () => void): CancelTimer;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
};

/**
 * Runs a task once sockets and timers have been served, one or two milliseconds later. After
 * `setImmediate`, Deno looks for new input only in every 61st turn of the event loop; for a timer it
 * always does.
 */
export function afterInput(task: () => void): CancelTimer {
  return systemClock.after(0, task);
}

/** Resolves after a time, or as soon as the signal is aborted. */
export function waitMs(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(delayMs, end);
    signal?.addEventListener("abort", end);
  });
}

/**
 * A clock that never jumps, for durations and deadlines. Its `now()` counts from the start of the
 * process, not from 1970.
 */
export const monotonicClock: Clock = {
  now: () => performance.now(),
  after: systemClock.after,
};

/** A clock offset from another one, for chains whose time can be moved. Timers are not affected. */
export class ShiftedClock implements Clock {
  readonly #base: Clock;
  #shiftMs = 0;

  constructor(base: Clock) {
    this.#base = base;
  }

  now(): number {
    return this.#base.now() + this.#shiftMs;
  }

  after(delayMs: number, task: () => void): CancelTimer {
    return this.#base.after(delayMs, task);
  }

  /** Moves the time forwards, or backwards by a negative number. */
  shift(byMs: number): void {
    this.#shiftMs += byMs;
  }
}

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

  clear(): void {
    for (const cancel of this.#pending) cancel();
    this.#pending.clear();
  }
}

/**
 * Waits for work, but not longer than `timeoutMs`; the work continues after that.
 *
 * @returns The work's result, or `fallback`.
 */
export async function withinMs<T, L>(
  work: PromiseLike<T>,
  timeoutMs: number,
  fallback: L,
  clock: Clock = systemClock,
): Promise<T | L> {
  let cancel: CancelTimer = () => {};
  const timeout = new Promise<L>((resolve) => {
    cancel = clock.after(timeoutMs, () => resolve(fallback));
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    cancel();
  }
}
