import { memberSpan } from "../json_text.ts";
import type { Answer } from "../envelope.ts";

/** Four per request that can be open at a node, so that collisions are rare; a power of two. */
const SLOTS = 4_096;

/** At least this many characters of a longer text are hashed, spread over it. */
const HASHED_CHARS = 64;

/** A read without an answer yet. */
export interface Flight {
  readonly key: string;
  /** Its slot while equal reads may join it. */
  readonly slot: number;
  /** Callbacks of the equal reads that wait for it. */
  waiting: ((answer: Answer | undefined) => void)[] | undefined;
}

/** Reads without an answer yet, so that an equal read can wait for the same answer. */
export class InFlightReads {
  /**
   * The newest flight of each slot; an older one in the same slot can no longer be joined. A `Map` of
   * short-lived texts takes twice as long.
   */
  readonly #slots: (Flight | undefined)[] = new Array(SLOTS).fill(undefined);

  /**
   * Begins the flight of a read, for its sender to {@link complete}. If an equal one is in flight, returns
   * its answer instead, which is undefined if it cannot be shared.
   *
   * @param key The text of the read without its id.
   */
  begin(key: string): Flight | Promise<Answer | undefined> {
    const slot = slotOf(key);
    const flight = this.#slots[slot];
    if (flight !== undefined && flight.key === key) {
      return new Promise((resolve) => (flight.waiting ??= []).push(resolve));
    }
    return this.#slots[slot] = { key, slot, waiting: undefined };
  }

  /**
   * Ends a flight. Equal reads get the answer if it is a result: an error may be about the first
   * caller, such as its address, so after any other outcome each read is sent separately.
   */
  complete(flight: Flight, answer: Answer | undefined): void {
    if (this.#slots[flight.slot] === flight) this.#slots[flight.slot] = undefined;
    if (flight.waiting === undefined) return;
    const shared = answer !== undefined && isResult(answer) ? answer : undefined;
    for (const resolve of flight.waiting) resolve(shared);
  }

  /** Prevents later reads from joining those in flight. */
  forget(): void {
    this.#slots.fill(undefined);
  }
}

function isResult({ status, text }: Answer): boolean {
  return status === 200 && memberSpan(text, "result") !== undefined &&
    memberSpan(text, "error") === undefined;
}

/** The slot of a text. */
function slotOf(text: string): number {
  const step = Math.max(1, Math.floor(text.length / HASHED_CHARS));
  let hash = text.length;
  for (let at = 0; at < text.length; at += step) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193); // FNV-1a
  }
  return (hash ^ hash >>> 15) & (SLOTS - 1);
}
