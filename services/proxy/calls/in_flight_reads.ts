import { memberSpan } from "../../../lib/json_text.ts";
import type { CallAnswer } from "../shared/envelopes.ts";
import { ProxyError } from "../shared/failures.ts";

/** Four per request that can be open at a node, so that collisions are rare; a power of two. */
const SLOTS = 4_096;

/** At least this many characters of a longer text are hashed, at even distances. */
const HASHED_CHARS = 64;

/** A read without an answer yet. */
interface InFlightRead {
  readonly key: string;
  /** Number of {@link InFlightReads.clear} calls before it. */
  readonly generation: number;
  readonly answer: Promise<CallAnswer>;
  /** The answer for equal reads, once one waits for it: undefined if they have to ask. */
  shared?: Promise<CallAnswer | undefined>;
}

/** Reads without an answer yet, so that an equal read can wait for the same answer. */
export class InFlightReads {
  /**
   * The newest read of each slot; an older one in the same slot can no longer be joined. A `Map`
   * hashes each whole text: measured in turns, a read that nobody joins takes 0.9 µs longer with it
   * (3 % of its CPU), one of 1 kB 1.3 µs and one of 100 kB 39 µs.
   */
  readonly #slots: (InFlightRead | undefined)[] = new Array(SLOTS).fill(undefined);
  #generation = 0;

  /**
   * Asks for the answer to a read, or waits for that of an equal read in flight. A result is shared,
   * and so is a timeout, or the others would wait twice as long. Any other failure may concern the
   * first caller alone, such as its address: the others then ask for themselves.
   *
   * @param key The text of the read without its id.
   */
  async share(key: string, ask: () => Promise<CallAnswer>): Promise<CallAnswer> {
    const slot = slotOf(key);
    const known = this.#slots[slot];
    const generation = this.#generation;
    if (known?.key === key && known.generation === generation) {
      known.shared ??= known.answer.then(
        (answer) => isResult(answer) ? answer : undefined,
        (thrown) => {
          if (thrown instanceof ProxyError && thrown.status === 504) throw thrown;
          return undefined;
        },
      );
      return await known.shared ?? await ask();
    }
    const read: InFlightRead = this.#slots[slot] = { key, generation, answer: ask() };
    try {
      return await read.answer;
    } finally {
      if (this.#slots[slot] === read) this.#slots[slot] = undefined;
    }
  }

  /**
   * Prevents later reads from joining those in flight. Called for each notification: emptying the
   * slots took 4 µs.
   */
  clear(): void {
    this.#generation += 1;
  }
}

function isResult({ status, text }: CallAnswer): boolean {
  return status === 200 && memberSpan(text, "result") !== undefined &&
    memberSpan(text, "error") === undefined;
}

function slotOf(text: string): number {
  const step = Math.max(1, Math.floor(text.length / HASHED_CHARS));
  let hash = text.length;
  for (let at = 0; at < text.length; at += step) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193); // FNV-1a
  }
  return (hash ^ hash >>> 15) & (SLOTS - 1);
}
