/** Polls the services' plain HTTP interfaces. */
import { type CancelTimer, type Clock, NetworkError } from "@rangemaker/client";
import { messageOf } from "../../../../lib/errors.ts";

/** Pause between two passes. */
const POLL_MS = 1_500;

/** A service that takes longer counts as away. */
const TIMEOUT_MS = 3_000;

/** An answer of any status, read to its end. */
export interface HttpAnswer {
  status: number;
  text: string;
}

/** @throws {NetworkError} If there is no complete answer; with a cause, the request failed at once. */
export async function get(url: string, signal: AbortSignal): Promise<HttpAnswer> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, timeout]) });
    return { status: response.status, text: await response.text() };
  } catch (cause) {
    if (timeout.aborted) {
      throw new NetworkError("SERVICE_TIMEOUT", `${url} did not answer within ${TIMEOUT_MS} ms`);
    }
    const message = `${url} cannot be reached: ${messageOf(cause)}`;
    throw new NetworkError("SERVICE_UNREACHABLE", message, cause);
  }
}

/** @throws {NetworkError} Also if the status is not 200: a front answers in place of the service. */
export async function getText(url: string, signal: AbortSignal): Promise<string> {
  const { status, text } = await get(url, signal);
  if (status === 200) return text;
  throw new NetworkError("SERVICE_UNREACHABLE", `${url} answered with status ${status}`);
}

/** Whether anything answers at a URL, even if this page may not read the answer. */
export async function isAnswered(url: string, signal: AbortSignal): Promise<boolean> {
  const ended = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const { body } = await fetch(url, { mode: "no-cors", signal: ended });
    body?.cancel().catch(() => {}); // nothing of it is read
    return true;
  } catch {
    return false;
  }
}

/** Repeats a pass while it is started, with a pause after each. */
export class Poll {
  readonly #clock: Clock;
  readonly #pass: (signal: AbortSignal) => Promise<void>;
  readonly #pauseMs: number;
  #run = new AbortController();
  #cancelNext: CancelTimer = () => {};

  /** @param pass Handles its own failures. Its result is ignored once `signal` is aborted. */
  constructor(clock: Clock, pass: (signal: AbortSignal) => Promise<void>, pauseMs = POLL_MS) {
    this.#clock = clock;
    this.#pass = pass;
    this.#pauseMs = pauseMs;
  }

  start(): void {
    this.stop();
    this.#run = new AbortController();
    void this.#go(this.#run.signal);
  }

  /** Also aborts the current pass. */
  stop(): void {
    this.#run.abort();
    this.#cancelNext();
  }

  async #go(signal: AbortSignal): Promise<void> {
    try {
      await this.#pass(signal);
    } finally { // an error that a pass does not expect is reported, and does not end the polling
      if (!signal.aborted) {
        this.#cancelNext = this.#clock.after(this.#pauseMs, () => void this.#go(signal));
      }
    }
  }
}
