/** Shows the messages about events, and reads them to screen readers. */
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
  const messages = isOpen.value ? model.messages.list.value : [];
  usePosition(box, messages);
  useEffect(() => {
    const ended = new AbortController();
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !model.messages.list.peek().some(isVisible)) return;
      if (document.querySelector("main :active") !== null) return; // it undoes a drag
      event.stopPropagation(); // nothing below the message is closed
      model.messages.hide();
      model.announce("Message closed.", { isSpoken: true });
    }, { capture: true, signal: ended.signal });
    return () => ended.abort();
  }, []);
  const close = () => {
    model.messages.hide();
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

/** What is pressed: no message covers it. */
const PRESSED = ":is(button, a, input, select, summary):focus, nav, [data-next]";

/** What is kept free too, if there is room. */
const KEPT_FREE =
  `${PRESSED}, .action-bar, .next, h2:not(.spoken), .legend > .choice, .markets, .field, .facts, .chart`;

/** Pixels between a message and what is below it. */
const GAP = 6;

/**
 * Places messages at the bottom, or as far above it as they cover nothing that is kept free. They
 * are not seen while each place covers what is pressed, as on a small screen with enlarged text.
 */
function usePosition(box: RefObject<HTMLDivElement | null>, messages: readonly unknown[]): void {
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const move = () => {
      element.style.translate = "";
      const { bottom, left, right, height } = element.getBoundingClientRect();
      if (height === 0) return;
      /** The lowest place for the end of the messages that covers none of these parts. */
      const endAbove = (selector: string) => {
        const parts = [...document.querySelectorAll(selector)]
          .filter((part) => !element.contains(part))
          .map((part) => part.getBoundingClientRect())
          .filter((part) => part.left < right && part.right > left && part.height > 0);
        return [bottom, ...parts.map((part) => part.top - GAP), height + GAP]
          .filter((end) => end <= bottom && end >= height)
          .sort((a, b) => b - a)
          .find((end) => parts.every(({ top, bottom }) => top >= end || bottom <= end - height));
      };
      const end = endAbove(KEPT_FREE) ?? endAbove(PRESSED);
      element.classList.toggle("covering", end === undefined);
      element.style.translate = `0 ${(end ?? bottom) - bottom}px`;
    };
    const sizes = new ResizeObserver(move);
    sizes.observe(document.body);
    const ended = new AbortController();
    for (const type of ["focusin", "scroll"]) {
      document.addEventListener(type, move, { signal: ended.signal, passive: true });
    }
    return () => {
      sizes.disconnect();
      ended.abort();
    };
  }, [messages]);
}
