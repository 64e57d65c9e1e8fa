import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Message } from "./data/messages.ts";
import type { PageModel } from "./data/page_model.ts";

/** Time in which screen readers find a live region. */
const REGION_MS = 300;

/** The newest message over the page, until it is closed; screen readers read each one. */
export function Messages({ model }: { model: PageModel }) {
  const box = useRef<HTMLDivElement>(null);
  // Screen readers read what is added to a live region, not what it contains from the start.
  const isOpen = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => isOpen.value = true, REGION_MS);
    return () => clearTimeout(timer);
  }, []);
  const messages = isOpen.value ? model.messages.value : [];
  usePlace(box, messages);
  useEffect(() => {
    const ended = new AbortController();
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !model.messages.peek().some(isVisible)) return;
      if (document.querySelector("main :active") !== null) return; // it undoes a drag
      event.stopPropagation(); // nothing below the message is closed
      model.hideMessages();
      model.announce("Message closed.", { isSpoken: true });
    }, { capture: true, signal: ended.signal });
    return () => ended.abort();
  }, []);
  const close = () => {
    model.hideMessages();
    document.querySelector("main")?.focus({ preventScroll: true }); // the button disappears
  };
  return (
    <div ref={box} class="toasts">
      {/* Not atomic: screen readers read only the new line, not the lines that are still shown. */}
      <div class="messages" role="status" aria-atomic="false">
        {messages.map(({ id, text, isSpoken }) => (
          <p key={id} class={isSpoken ? "spoken" : undefined}>{text}</p>
        ))}
      </div>
      {messages.some(isVisible) && (
        <button type="button" aria-label="Close the message" onClick={close}>✕</button>
      )}
    </div>
  );
}

const isVisible = ({ isSpoken }: Message) => !isSpoken;

const HEADINGS = "h2:not(.spoken)";

/** The buttons that zoom the chart. */
const ZOOM = ".legend > .choice";

/** What a message leaves free, the most important parts first: what is pressed, what is read. */
const KEPT_FREE = [
  ":is(button, a, input, select, summary):focus, nav, footer select, [data-next]",
  ".action-bar",
  HEADINGS,
  ZOOM,
  ".chart, .positions",
];

/** Pixels between a message and the heading or buttons below it. */
const GAP = 6;

/**
 * Places messages where they cover the least: at the bottom, at the top, or above a heading or the zoom.
 * They are not seen while they would cover what is pressed, as on a small screen with enlarged text.
 */
function usePlace(box: RefObject<HTMLDivElement | null>, messages: readonly unknown[]): void {
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const coveredOf = (parts: string) => {
      const { top, bottom, left, right, height } = element.getBoundingClientRect();
      return [...document.querySelectorAll(parts)]
        .filter((part) => height > 0 && !element.contains(part))
        .map((part) => part.getBoundingClientRect())
        .filter((part) =>
          part.bottom > top && part.top < bottom && part.left < right && part.right > left
        );
    };
    const move = ({ isAbove = false, liftPx = 0 }) => {
      element.classList.toggle("above", isAbove);
      element.style.translate = `0 ${-liftPx}px`;
    };
    /** The rank of the most important part that is covered there; higher is better. */
    const rankAt = (spot: { isAbove?: boolean; liftPx?: number }) => {
      move(spot);
      const rank = KEPT_FREE.findIndex((parts) => coveredOf(parts).length > 0);
      return rank < 0 ? KEPT_FREE.length : rank;
    };
    const place = () => {
      const spots: { isAbove?: boolean; liftPx?: number }[] = [{}, { isAbove: true }];
      let liftPx = 0;
      for (const parts of [HEADINGS, ZOOM]) {
        move({ liftPx });
        const { bottom } = element.getBoundingClientRect();
        liftPx += Math.max(0, ...coveredOf(parts).map(({ top }) => bottom + GAP - top));
        spots.push({ liftPx });
      }
      const ranks = spots.map(rankAt);
      const best = Math.max(...ranks);
      move(spots[ranks.indexOf(best)] ?? {});
      element.classList.toggle("covering", best === 0);
    };
    const sizes = new ResizeObserver(place);
    sizes.observe(document.body);
    const ended = new AbortController();
    for (const type of ["focusin", "scroll"]) {
      document.addEventListener(type, place, { signal: ended.signal, passive: true });
    }
    return () => {
      sizes.disconnect();
      ended.abort();
    };
  }, [messages]);
}
