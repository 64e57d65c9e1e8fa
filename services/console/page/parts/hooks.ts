import type { Clock } from "@rangemaker/client";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

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

/**
 * Moves the focus to the next step, marked `data-next`, when the step changes while the focus is in
 * this part. A page that was just opened, and a focus elsewhere, stay as they are.
 *
 * @param returnTo Selector of the element that gets the focus back if the user started there and
 *   gives up before the end.
 */
export function useNextFocus(
  part: RefObject<HTMLElement | null>,
  step: { name: string; of: string },
  returnTo: string,
): void {
  const before = useRef(step);
  const isFromOrigin = useRef(false);
  // The focus before this change: afterwards, the focused element may no longer exist.
  const { activeElement } = document;
  const isInPart = part.current?.contains(activeElement) === true;
  const isAtOrigin = activeElement?.matches(returnTo) === true;
  const focusNext = (previous: typeof step) => {
    if (previous.name === step.name) {
      // The user may be typing when a deposit arrives, which is not the user's own step.
      if (!isInPart || document.activeElement instanceof HTMLInputElement) return;
    } else if (!isInPart && !isAtOrigin) return;
    // The user gave up from there, so the focus stays.
    if (step.name === "draft" && isAtOrigin) return;
    if (previous.name === "draft") isFromOrigin.current = isAtOrigin;
    const isBack = step.name === "draft" && previous.name !== "placed" && isFromOrigin.current;
    const next = isBack
      ? document.querySelector<HTMLElement>(returnTo)
      : part.current?.querySelector<HTMLElement>("[data-next]:not(:disabled)");
    next?.focus({ preventScroll: true });
    // For keyboard users, the focus and its context must be visible. For touch, the chart stays in
    // view.
    if (!next?.matches(":focus-visible")) return;
    for (const part of [next.closest(".action-bar"), next]) {
      part?.scrollIntoView({ block: "nearest" });
    }
  };
  useLayoutEffect(() => {
    const previous = before.current;
    before.current = step;
    // After the other components of this change, but not after the page is painted, which may be
    // late: a focus that was lost with the previous step would have been put elsewhere by then.
    queueMicrotask(() => focusNext(previous));
  }, [step.name, step.of]);
}
