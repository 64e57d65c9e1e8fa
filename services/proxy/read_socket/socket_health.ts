import type { Clock } from "../../../lib/clock.ts";
import { RateWindow } from "../../../lib/rate_window.ts";

/** A check is slow if it exceeds twice its time over HTTP by more than this. */
const SLOWER_THAN_HTTP_MS = 5;

/** After this many slow checks, or ticks without an answer, in a row, reads go over HTTP. */
const SLOW_MAX = 10;

/** After more faults, reads go over HTTP. */
const FAULTS_MAX = { count: 2, windowMs: 60_000 };

/** How long reads then go over HTTP, before the socket is tried again. */
export const PAUSE_MS = 600_000;

interface SocketHealthOptions {
  /** For durations: it must not jump. */
  clock: Clock;
  /** Sends a small call over the socket; the owner reports its answer. */
  askOverSocket: () => void;
  askOverHttp: () => Promise<unknown>;
  /** Called when reads are to go over HTTP. */
  onPause: (reason: string) => void;
}

interface Check {
  sentAtMs: number;
  /** How long it took over the socket, once it was answered. */
  socketMs?: number;
  /** The same over HTTP; NaN if it failed there, which says nothing about the socket. */
  httpMs?: number;
}

/**
 * Decides whether reads go over a WebSocket. Some nodes work on one call of a socket at a time, or
 * lose answers: their reads go over HTTP for a while. While reads are open, the proxy sends the
 * node the same small call over WebSocket and HTTP.
 */
export class SocketHealth {
  readonly #options: SocketHealthOptions;
  #pausedUntilMs = 0;
  /** Checks that were slow, and ticks without an answer to one, in a row. */
  #slow = 0;
  #faults = new RateWindow(FAULTS_MAX);
  /** The check that is unanswered over the socket. */
  #check: Check | undefined;

  constructor(options: SocketHealthOptions) {
    this.#options = options;
  }

  /** Whether reads go over HTTP. */
  get isPaused(): boolean {
    return this.#pausedUntilMs > 0 && this.#options.clock.now() < this.#pausedUntilMs;
  }

  /** Another node leads, of which nothing is known. */
  clear(): void {
    this.#slow = 0;
    this.#faults = new RateWindow(FAULTS_MAX);
    this.#pausedUntilMs = 0;
  }

  /** The socket is lost: what was sent over it gets no answer. */
  onLost(): void {
    this.#check = undefined;
  }

  /** Call it regularly while reads are open. */
  tick(): void {
    const { clock, askOverSocket } = this.#options;
    const check = this.#check;
    if (check === undefined) {
      this.#check = this.#checkOverHttp(clock.now());
      askOverSocket();
      return;
    }
    const { sentAtMs, httpMs } = check;
    // A node that answers over neither is slow as a whole, or away.
    if (httpMs === undefined) return;
    if (Number.isNaN(httpMs)) this.#check = this.#checkOverHttp(sentAtMs);
    else this.#countSlow("one read over its WebSocket blocks all others");
  }

  /** Sends a check over HTTP. @param sentAtMs When it was sent over the socket. */
  #checkOverHttp(sentAtMs: number): Check {
    const { clock, askOverHttp } = this.#options;
    const askedAtMs = clock.now();
    const check: Check = { sentAtMs };
    void askOverHttp().then(() => clock.now() - askedAtMs, () => NaN).then((ms) => {
      check.httpMs = ms;
      this.#compare(check);
    });
    return check;
  }

  onCheckAnswered(atMs: number): void {
    const check = this.#check;
    this.#check = undefined;
    if (check === undefined) return;
    check.socketMs = atMs - check.sentAtMs;
    this.#compare(check);
  }

  /** Compares the times of a check, once both are known. */
  #compare({ socketMs, httpMs }: Check): void {
    if (socketMs === undefined || httpMs === undefined || Number.isNaN(httpMs)) return;
    if (socketMs <= 2 * httpMs + SLOWER_THAN_HTTP_MS) this.#slow = 0;
    else {
      const [slow, fast] = [socketMs, httpMs].map((ms) => ms.toFixed(1));
      this.#countSlow(`a call takes ${slow} ms over its WebSocket, and ${fast} ms over HTTP`);
    }
  }

  /** The socket did not answer a read. */
  countFault(reason: string): void {
    if (!this.#faults.tryAdd(this.#options.clock.now())) this.#pause(reason);
  }

  #countSlow(reason: string): void {
    this.#slow += 1;
    if (this.#slow >= SLOW_MAX) this.#pause(reason);
  }

  /** Sends reads over HTTP for a while. */
  #pause(reason: string): void {
    if (this.isPaused) return;
    this.clear();
    this.#pausedUntilMs = this.#options.clock.now() + PAUSE_MS;
    this.#options.onPause(reason);
  }
}
