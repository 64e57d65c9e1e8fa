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

/** No message covers these. */
const KEPT_FREE = ":is(button, a, input, select, summary):focus, nav, footer select, .action-bar";

/** Places messages at the bottom, or at the top if they would cover something there. */
function usePlace(box: RefObject<HTMLDivElement | null>, messages: readonly unknown[]): void {
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const isOver = (parts: string) => {
      const { top, bottom, left, right, height } = element.getBoundingClientRect();
      return height > 0 && [...document.querySelectorAll(parts)].some((part) => {
        const covered = part.getBoundingClientRect();
        return !element.contains(part) && covered.bottom > top && covered.top < bottom &&
          covered.left < right && covered.right > left;
      });
    };
    const place = () => {
      element.classList.remove("above");
      element.classList.toggle("above", isOver(`${KEPT_FREE}, .positions`));
      if (isOver(KEPT_FREE)) element.classList.remove("above");
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
