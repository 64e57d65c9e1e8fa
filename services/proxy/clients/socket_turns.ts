import { afterInput } from "../../../lib/clock.ts";
import { FairQueue } from "../../../lib/fair_share.ts";
import type { CallerAddress } from "../../../lib/http/caller_address.ts";

/** Bytes of one read after which a socket waits for its turn. */
export const LONG_READ_BYTES = 16 * 1024;

/** A socket whose reading can be paused. */
interface PausableSocket {
  pause(): void;
  resume(): void;
}

/**
 * Sockets that read much at once: each goes on in a turn of the event loop of its own, and callers
 * take turns. The runtime serves no new input while one of them still finds data, so twenty clients
 * that sent pings without end kept all others waiting for as long as they did.
 */
export class SocketTurns {
  readonly #paused = new FairQueue<() => void>();
  #isScheduled = false;

  /** Pauses a socket until its turn; it gets one within a millisecond or two of each before it. */
  pause(socket: PausableSocket, { peerKey, key }: CallerAddress): void {
    socket.pause();
    this.#paused.add([peerKey, key], () => socket.resume());
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    afterInput(() => {
      this.#isScheduled = false;
      this.#paused.removeNext()?.();
      if (this.#paused.size > 0) this.#schedule();
    });
  }
}
