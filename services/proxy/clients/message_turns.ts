import type { Clock } from "../../../lib/clock.ts";
import { FairQueue } from "../../../lib/fair_share.ts";

/** Messages of all clients that are handled at once in a turn of the event loop. */
const AT_ONCE = 256;

/** So many have to be handled until a timer begins the next turn: one for each would cost time. */
const TURN_ENDS_AFTER = 64;

/** Messages that wait are handled for this long before sockets are served again. */
const TURN_MS = 4;

/** Most messages, and characters, of one client that may wait. */
export const WAITING_MAX = 1_024;
const WAITING_CHARS_MAX = 1024 * 1024;

/**
 * The messages of WebSockets, handled in turns. The runtime passes on all that a client has sent
 * before it serves anybody else: half a million short messages kept others waiting for 16 s.
 */
export class MessageTurns {
  readonly #clock: Clock;
  readonly #waiting = new FairQueue<() => void>();
  #handled = 0;
  #isScheduled = false;

  /** @param clock Measures durations: it must not jump. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The messages of one client. They keep their order; callers take turns.
   *
   * @returns Handles a message, now or later, or returns false if too many wait.
   */
  ofClient(caller: string, handle: (text: string) => void): (text: string) => boolean {
    let [waiting, chars] = [0, 0];
    return (text) => {
      if (waiting === 0 && this.#handled < AT_ONCE) {
        this.#handled += 1;
        if (this.#handled === TURN_ENDS_AFTER) this.#schedule();
        handle(text);
        return true;
      }
      if (waiting >= WAITING_MAX || chars + text.length > WAITING_CHARS_MAX) return false;
      waiting += 1;
      chars += text.length;
      this.#waiting.add([caller], () => {
        waiting -= 1;
        chars -= text.length;
        handle(text);
      });
      this.#schedule();
      return true;
    };
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.after(0, () => {
      this.#isScheduled = false;
      this.#handled = 0;
      const untilMs = this.#clock.now() + TURN_MS;
      while (this.#waiting.size > 0) {
        this.#waiting.removeNext()?.();
        if (this.#clock.now() >= untilMs) break;
      }
      if (this.#waiting.size > 0) this.#schedule();
    });
  }
}
