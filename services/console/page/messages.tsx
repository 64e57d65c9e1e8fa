/** Shows the messages about events, and reads them to screen readers. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Message } from "./data/messages.ts";
import type { PageModel } from "./data/page_model.ts";

/** Time in which screen readers find a live region. */
const REGION_MS = 300;

/** The newest message over the page, until it is closed; screen readers read each one. */
export function Messages({ model }: { model: PageModel }) {
  // Screen readers read what is added to a live region, not what it contains from the start.
  const isOpen = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => isOpen.value = true, REGION_MS);
    return () => clearTimeout(timer);
  }, []);
  const messages = isOpen.value ? model.messages.list.value : [];
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
  return (
    <div class="toasts">
      {/* Not atomic: screen readers read only the new line, not the lines that are still shown. */}
      <div class="messages" role="status" aria-atomic="false">
        {messages.map(({ id, text, isSpoken }) => (
          <p key={id} class={isSpoken ? "spoken" : undefined}>{text}</p>
        ))}
      </div>
      {messages.some(isVisible) && (
        <button type="button" aria-label="Close the message" onClick={model.messages.hide}>
          ✕
        </button>
      )}
    </div>
  );
}

const isVisible = ({ isSpoken }: Message) => !isSpoken;
