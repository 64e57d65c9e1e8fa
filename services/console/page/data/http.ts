/** Reads the services' plain HTTP interfaces, again and again. */
import type { CancelTimer, Clock } from "@rangemaker/client";
import { messageOf } from "../format.ts";

/** Between two passes. */
const POLL_MS = 1_500;

/** A service that takes longer counts as away. */
const TIMEOUT_MS = 3_000;

/** A service is away, or answers something else than it should. The cause is a failure at once. */
export class NoAnswerError extends Error {}

/** No whole answer came in time. */
export class LateError extends NoAnswerError {}

/** An answer of any status, read to its end. */
export interface HttpAnswer {
  status: number;
  text: string;
}

/** @throws {NoAnswerError} No whole answer came. */
export async function get(url: string, signal: AbortSignal): Promise<HttpAnswer> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, timeout]) });
    return { status: response.status, text: await response.text() };
  } catch (cause) {
    if (timeout.aborted) throw new LateError(`${url} did not answer within ${TIMEOUT_MS} ms`);
    throw new NoAnswerError(`${url} cannot be reached: ${messageOf(cause)}`, { cause });
  }
}

/** Whether anything answers at a URL, also if it does not allow this page to read the answer. */
export function isAnswered(url: string, signal: AbortSignal): Promise<boolean> {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  return fetch(url, { mode: "no-cors", signal: ended }).then(() => true, () => false);
}

/** Does something again and again while it is started, with a pause after each pass. */
export class Poll {
  readonly #clock: Clock;
  readonly #pass: (signal: AbortSignal) => Promise<void>;
  readonly #pauseMs: number;
  #run = new AbortController();
  #cancelNext: CancelTimer = () => {};

  /** @param pass Deals with its own failures. Once `signal` is aborted, its result no longer counts. */
  constructor(clock: Clock, pass: (signal: AbortSignal) => Promise<void>, pauseMs = POLL_MS) {
    this.#clock = clock;
    this.#pass = pass;
    this.#pauseMs = pauseMs;
  }

  /** @param pauseMs After each pass, from now on. */
  start(pauseMs = this.#pauseMs): void {
    this.stop();
    this.#run = new AbortController();
    void this.#go(this.#run.signal, pauseMs);
  }

  /** Ends the pass under way, too. */
  stop(): void {
    this.#run.abort();
    this.#cancelNext();
  }

  async #go(signal: AbortSignal, pauseMs: number): Promise<void> {
    await this.#pass(signal);
    if (signal.aborted) return;
    this.#cancelNext = this.#clock.after(pauseMs, () => void this.#go(signal, pauseMs));
  }
}
