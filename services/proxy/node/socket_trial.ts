import type { Clock } from "../../../lib/clock.ts";
import type { Answer } from "../envelope.ts";

/**
 * One of this many reads goes over HTTP, to compare the two ways, but none within {@link SAMPLE_MS} of
 * the last one: over HTTP a read takes twice the CPU, and reads of one moment say the same.
 */
const SAMPLE_EVERY = 64;
const SAMPLE_MS = 20;

/** Reads of each way that are compared at a time. */
const SAMPLES = 16;

/** The socket is too slow if its median is over twice that of HTTP, and this much more. */
const SLOWER_MS = 5;

/** Comparisons in a row that the socket loses before reads go over HTTP. */
const SLOWER_ROUNDS = 2;

/** Faults within {@link FAULTS_MS} after which reads go over HTTP. */
const FAULTS_MAX = 3;
const FAULTS_MS = 60_000;

/** How long reads then go over HTTP, before the socket is tried again. */
export const PAUSE_MS = 600_000;

/**
 * Compares reads over a WebSocket with reads over HTTP. Some nodes work on one call of a socket at a
 * time, or lose answers: their reads go over HTTP for a while.
 */
export class SocketTrial {
  readonly #clock: Clock;
  readonly #paused: (reason: string, pauseMs: number) => void;
  #pausedUntilMs = 0;
  /** Reads since the last one over HTTP. */
  #reads = 0;
  #nextAtMs = 0;
  /** Whether the next read over the socket is compared with the last one over HTTP. */
  #isSocketTurn = false;
  #socketMs: number[] = [];
  #httpMs: number[] = [];
  #slowerRounds = 0;
  #faultsAtMs: number[] = [];

  /** @param paused Called when reads are to go over HTTP. */
  constructor(clock: Clock, paused: (reason: string, pauseMs: number) => void) {
    this.#clock = clock;
    this.#paused = paused;
  }

  /** Whether reads go over HTTP. */
  get isPaused(): boolean {
    return this.#pausedUntilMs > 0 && this.#clock.now() < this.#pausedUntilMs;
  }

  /** A new connection: earlier comparisons do not apply to it. */
  restart(): void {
    this.#socketMs = [];
    this.#httpMs = [];
    this.#slowerRounds = 0;
  }

  /** Another node: nothing is known about it. */
  clear(): void {
    this.restart();
    this.#faultsAtMs = [];
    this.#pausedUntilMs = 0;
  }

  /**
   * Counts a read.
   *
   * @returns Which way it goes, and whether its time over the socket is to be compared.
   */
  next(nowMs: number): "http" | "socket" | "sample" {
    this.#reads += 1;
    if (this.#isSocketTurn) {
      this.#isSocketTurn = false;
      return "sample";
    }
    if (this.#reads < SAMPLE_EVERY || nowMs < this.#nextAtMs) return "socket";
    this.#reads = 0;
    this.#nextAtMs = nowMs + SAMPLE_MS;
    this.#isSocketTurn = true;
    return "http";
  }

  /** Notes how long a read over HTTP takes. */
  async timeHttp(answer: Promise<Answer>): Promise<Answer> {
    const startedAtMs = this.#clock.now();
    await answer;
    this.#compare(this.#httpMs, this.#clock.now() - startedAtMs);
    return answer;
  }

  /** A read that was to be compared took so long over the socket. */
  socketTook(tookMs: number): void {
    this.#compare(this.#socketMs, tookMs);
  }

  #compare(times: number[], tookMs: number): void {
    if (times.push(tookMs) > SAMPLES) times.shift(); // those of the other way are missing
    if (this.#socketMs.length < SAMPLES || this.#httpMs.length < SAMPLES) return;
    const [socketMs, httpMs] = [medianOf(this.#socketMs), medianOf(this.#httpMs)];
    this.#socketMs = [];
    this.#httpMs = [];
    const isSlower = socketMs > 2 * httpMs + SLOWER_MS;
    this.#slowerRounds = isSlower ? this.#slowerRounds + 1 : 0;
    if (this.#slowerRounds < SLOWER_ROUNDS) return;
    const [slow, fast] = [socketMs, httpMs].map((ms) => ms.toFixed(1));
    this.pause(`a read takes ${slow} ms over its WebSocket, and ${fast} ms over HTTP`);
  }

  /** The socket did not answer a read. */
  faulted(reason: string): void {
    const nowMs = this.#clock.now();
    this.#faultsAtMs = this.#faultsAtMs.filter((atMs) => nowMs - atMs < FAULTS_MS);
    if (this.#faultsAtMs.push(nowMs) >= FAULTS_MAX) this.pause(reason);
  }

  /** Sends reads over HTTP for a while. */
  pause(reason: string): void {
    if (this.isPaused) return;
    this.clear();
    this.#pausedUntilMs = this.#clock.now() + PAUSE_MS;
    this.#paused(reason, PAUSE_MS);
  }
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
