import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { reasonOf } from "../../../lib/errors.ts";
import { request } from "../../../lib/net/http_request.ts";

/** Result of a pull: the parsed body of `GET /prices`, or the reason why there is none. */
export type PullResult = { body: unknown } | { failure: "timeout" | "error"; reason: string };

/** How long the request of a pull continues after its timeout. */
export const LATE_ANSWER_MAX_MS = 1_000;

/** Longest answer of an oracle: thousands of markets. */
const PRICES_BYTES_MAX = 1024 * 1024;

/** Whether text is a `service_url`: `host:port`, or an `http:` or `https:` URL. */
export function isServiceUrl(text: string): boolean {
  return URL.canParse(oracleUrl(text)) && !/\s/.test(text);
}

/** The URL of the oracle from the spec's `service_url`, which may lack the scheme. */
export function oracleUrl(serviceUrl: string): string {
  const url = /^https?:\/\//.test(serviceUrl) ? serviceUrl : `http://${serviceUrl}`;
  return url.replace(/\/+$/, "");
}

/** Pulls prices over HTTP (spec: price oracle, pull cycle). */
export class OracleClient {
  readonly #pricesUrl: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #requests = new Set<AbortController>();

  /** @param timeoutMs How long a pull waits for its answer. */
  constructor(serviceUrl: string, timeoutMs: number, clock: Clock) {
    this.#pricesUrl = `${oracleUrl(serviceUrl)}/prices`;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
  }

  /**
   * Pulls once. Never rejects, and resolves within the timeout. After a timeout, the request
   * continues for up to {@link LATE_ANSWER_MAX_MS}: on a busy machine answers are late for seconds,
   * and without them the node would have no prices.
   *
   * @param onLate Receives the body of an answer that came after the timeout.
   */
  pull(onLate: (body: unknown) => void = () => {}): Promise<PullResult> {
    const controller = new AbortController();
    this.#requests.add(controller);
    const timers: CancelTimer[] = [];
    let isLate = false;
    return new Promise<PullResult>((resolve) => {
      timers.push(
        this.#clock.after(this.#timeoutMs, () => {
          isLate = true;
          resolve({ failure: "timeout", reason: `no answer within ${this.#timeoutMs} ms` });
        }),
        this.#clock.after(LATE_ANSWER_MAX_MS, () => controller.abort()),
      );
      readJson(this.#pricesUrl, controller.signal)
        .then((body) => isLate ? onLate(body) : resolve({ body }))
        // After the timeout, a failure has no effect.
        .catch((thrown) => resolve({ failure: "error", reason: reasonOf(thrown) }))
        .finally(() => {
          for (const cancel of timers) cancel();
          this.#requests.delete(controller);
        });
    });
  }

  close(): void {
    for (const request of this.#requests) request.abort();
  }
}

async function readJson(url: string, signal: AbortSignal): Promise<unknown> {
  const { status, text } = await request(url, { signal, maxBytes: PRICES_BYTES_MAX });
  if (status !== 200) throw new Error(`status ${status}`);
  return JSON.parse(text);
}
