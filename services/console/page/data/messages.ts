/** The messages about events, as data; `messages.tsx` shows them. */
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Clock } from "@rangemaker/client";

/** The text about an event. */
export interface Message {
  id: number;
  text: string;
  /** For screen readers only, because the page shows the event elsewhere. */
  isSpoken: boolean;
  addedAtMs: number;
}

interface AnnounceOptions {
  isSpoken?: boolean;
  /** It answers a key or a press, so it is read even if it was just read. */
  isAnswer?: boolean;
}

/** Announces a text once. @returns Removes the message early. */
export type Announce = (text: string, options?: AnnounceOptions) => () => void;

/** How long a message is shown. Screen readers read each once. */
const MESSAGE_MS = 8_000;

/** A text that repeats the last one within this time is not read again. */
const REPEAT_MS = 1_000;

/**
 * The recent messages, and the function that adds one. A text that repeats the last one replaces
 * it.
 */
export function createMessages(
  clock: Clock,
): {
  list: ReadonlySignal<readonly Message[]>;
  announce: Announce;
  /** Hides all messages. Screen readers may not have read those that are only spoken. */
  hide(): void;
} {
  const messages: Signal<readonly Message[]> = signal([]);
  let id = 0;
  const announce: Announce = (text, { isSpoken = false, isAnswer = false } = {}) => {
    const last = messages.value.at(-1);
    const same = last?.text === text ? last : undefined;
    const addedAtMs = clock.now();
    const isRead = !isAnswer && same !== undefined && addedAtMs - same.addedAtMs < REPEAT_MS;
    const message = {
      id: isRead ? same.id : id++,
      text,
      isSpoken: isSpoken && (same?.isSpoken ?? true),
      addedAtMs,
    };
    messages.value = [...messages.value.filter((other) => other !== same), message];
    const remove = () => messages.value = messages.value.filter((other) => other !== message);
    clock.after(MESSAGE_MS, remove);
    return remove;
  };
  const hide = () => messages.value = messages.value.filter(({ isSpoken }) => isSpoken);
  return { list: messages, announce, hide };
}
