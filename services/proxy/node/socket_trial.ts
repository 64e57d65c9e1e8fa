import type { Clock } from "../../../lib/clock.ts";
import type { Answer } from "../envelope.ts";

/** One of this many reads goes over HTTP, to compare the two ways. */
const SAMPLE_EVERY = 64;

/** Reads of each way that are compared at a time. */
const SAMPLES = 16;

/** The socket is too slow if its median is over twice that of HTTP, and this much more. */
const SLOWER_MS = 5;

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
  #reads = 0;
  #socketMs: number[] = [];
  #httpMs: number[] = [];
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
  }

  /** Another node: nothing is known about it. */
  clear(): void {
    this.restart();
    this.#faultsAtMs = [];
    this.#pausedUntilMs = 0;
  }

  /** Counts a read. @returns Whether it is to go over HTTP, to be compared. */
  isHttpTurn(): boolean {
    this.#reads += 1;
    return this.#reads % SAMPLE_EVERY === 0;
  }

  /** Sends a read over HTTP, and notes how long that takes. */
  async timeHttp(overHttp: () => Promise<Answer>): Promise<Answer> {
    const startedAtMs = this.#clock.now();
    const answer = await overHttp();
    if (this.#httpMs.length < SAMPLES) this.#httpMs.push(this.#clock.now() - startedAtMs);
    return answer;
  }

  /** A read over the socket took so long. */
  socketTook(tookMs: number): void {
    if (this.#reads % SAMPLE_EVERY !== 1) return;
    this.#socketMs.push(tookMs);
    if (this.#socketMs.length < SAMPLES || this.#httpMs.length < SAMPLES) {
      if (this.#socketMs.length > SAMPLES) this.#socketMs.shift();
      return;
    }
    const [socketMs, httpMs] = [medianOf(this.#socketMs), medianOf(this.#httpMs)];
    this.restart();
    if (socketMs <= 2 * httpMs + SLOWER_MS) return;
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
