import { useEffect, useState } from "preact/hooks";

/** The time of a clock, read again at intervals; a sleeping page reads it when it wakes. */
export function useNow(now: () => number, everyMs: number): number {
  const [timeMs, setTimeMs] = useState(now);
  useEffect(() => {
    const tick = () => setTimeMs(now());
    const timer = setInterval(tick, everyMs);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, [now, everyMs]);
  return timeMs;
}
