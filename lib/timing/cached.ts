import type { Clock } from "../clock.ts";

/** A cached call. After `clear`, the next one asks again. */
export type Cached<T> = (() => Promise<T>) & { clear(): void };

/**
 * Caches a result or a failure for `forMs`, counted from when its request began. Callers share a
 * pending request however long it takes: only then is a result older than `forMs`.
 */
export function createCachedCall<T>(
  load: () => Promise<T>,
  forMs: number,
  clock: Clock,
): Cached<T> {
  let last: { result: Promise<T>; startedAtMs: number; isPending: boolean } | undefined;
  const call = () => {
    if (last !== undefined) {
      const ageMs = Math.abs(clock.now() - last.startedAtMs);
      if (last.isPending || ageMs < forMs) return last.result;
    }
    const entry = { result: load(), startedAtMs: clock.now(), isPending: true };
    const settle = () => void (entry.isPending = false);
    entry.result.then(settle, settle);
    last = entry;
    return entry.result;
  };
  return Object.assign(call, { clear: () => last = undefined });
}
