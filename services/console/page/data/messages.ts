import { effect, type ReadonlySignal, type Signal, signal, untracked } from "@preact/signals";
import type { Clock } from "@rangemaker/client";

/** An event in words. */
export interface Message {
  id: number;
  text: string;
  /** For screen readers only: the page shows it elsewhere. */
  isSpoken: boolean;
}

/** Says something once. @returns Removes the message before its time. */
export type Announce = (text: string, options?: Partial<Pick<Message, "isSpoken">>) => () => void;

/** How long a message is shown. Screen readers read each once. */
const MESSAGE_MS = 8_000;

/** The messages of the last seconds, and the way to add one. The same words in a row are said once. */
export function openMessages(
  clock: Clock,
): { messages: ReadonlySignal<readonly Message[]>; announce: Announce } {
  const messages: Signal<readonly Message[]> = signal([]);
  let id = 0;
  const announce: Announce = (text, { isSpoken = false } = {}) => {
    const last = messages.value.at(-1);
    const same = last?.text === text ? last : undefined;
    const message = { id: same?.id ?? id++, text, isSpoken: isSpoken && (same?.isSpoken ?? true) };
    messages.value = [...messages.value.filter((other) => other !== same), message];
    const remove = () => messages.value = messages.value.filter((other) => other !== message);
    clock.after(MESSAGE_MS, remove);
    return remove;
  };
  return { messages, announce };
}

/** A shorter loss of the network is not worth a word: a price that was on its way denies it. */
const OFFLINE_MIN_MS = 1_000;

/** Says that the device is online again. */
export function announceReturn(
  isOffline: ReadonlySignal<boolean>,
  announce: Announce,
  clock: Pick<Clock, "now">,
): void {
  let sinceMs = Infinity;
  effect(() => {
    const nowMs = clock.now();
    if (isOffline.value) return void (sinceMs = nowMs);
    if (nowMs - sinceMs >= OFFLINE_MIN_MS) untracked(() => announce("You are online again."));
    sinceMs = Infinity;
  });
}
