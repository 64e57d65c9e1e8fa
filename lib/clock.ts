/** Stops a timer that has not fired; harmless afterwards. */
export type CancelTimer = () => void;

/** Time as the classes of this program see it. Tests hand in one that they move themselves. */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number;
  /** Runs `task` once, `delayMs` from now. */
  after(delayMs: number, task: () => void): CancelTimer;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
};

/**
 * The same timers beside a time that never jumps: for durations and deadlines, which a clock set back
 * would otherwise stretch. Its `now()` counts from the start of the process, not from 1970.
 */
export const monotonicClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, task) => systemClock.after(delayMs, task),
};

/** A number in [0, 1): `Math.random`, or a seeded generator where a run must be repeatable. */
export type RandomSource = () => number;
