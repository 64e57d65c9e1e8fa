import type { Clock } from "../clock.ts";

const { clearTimeout: cancelTimer, Date: { now }, setTimeout: startTimer } = globalThis;

/** The real time and timers, even if a test replaces those of the runtime later. */
export const realClock: Clock = {
  now,
  after(delayMs, task) {
    const timer = startTimer(task, delayMs);
    return () => cancelTimer(timer);
  },
};
