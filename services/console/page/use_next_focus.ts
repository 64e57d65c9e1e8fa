import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/**
 * Moves the focus to the next step, marked `data-next`, when the step changes. A focus elsewhere on
 * the page stays where it is.
 */
export function useNextFocus(part: RefObject<HTMLElement | null>, step: string): void {
  const before = useRef(step);
  useEffect(() => {
    if (before.current === step) return;
    before.current = step;
    const focused = document.activeElement;
    const isElsewhere = focused !== null && focused !== document.body;
    if (isElsewhere && !part.current?.contains(focused)) return;
    const next = part.current?.querySelector<HTMLElement>("[data-next]:not(:disabled)");
    next?.focus({ preventScroll: true });
    // By keyboard, the focus has to be seen; a finger keeps the chart in sight.
    if (next?.matches(":focus-visible")) next.scrollIntoView({ block: "nearest" });
  }, [step]);
}
