import type { Clock } from "@rangemaker/client";
import { useEffect, useState } from "preact/hooks";

/** The time of a clock, updated at intervals and when the page becomes visible. */
export function useNow(clock: Pick<Clock, "now">, everyMs: number): number {
  const [timeMs, setTimeMs] = useState(() => clock.now());
  useEffect(() => {
    const tick = () => setTimeMs(clock.now());
    tick();
    const timer = setInterval(tick, everyMs);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, [clock, everyMs]);
  return timeMs;
}
