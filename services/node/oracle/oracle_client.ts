import { type Clock, withinMs } from "../../../lib/clock.ts";
import { reasonOf } from "../../../lib/errors.ts";
import { request } from "../../../lib/net/http_request.ts";

/** Result of a pull: the parsed body of `GET /prices`, or the reason why there is none. */
export type PullResult = { body: unknown } | { failure: "timeout" | "error"; reason: string };

/** How long the request of a pull continues after its timeout. */
export const LATE_ANSWER_MAX_MS = 1_000;

/** Longest answer of an oracle: thousands of markets. */
const PRICES_BYTES_MAX = 1024 * 1024;

/** Pulls prices over HTTP (spec: price oracle, pull cycle). */
export class OracleClient {
  readonly #pricesUrl: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #requests = new Set<AbortController>();

  /** @param timeoutMs How long a pull waits for its answer. */
  constructor(url: string, timeoutMs: number, clock: Clock) {
    this.#pricesUrl = `${url}/prices`;
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
  async pull(onLate: (body: unknown) => void = () => {}): Promise<PullResult> {
    const controller = new AbortController();
    this.#requests.add(controller);
    const cancel = this.#clock.after(LATE_ANSWER_MAX_MS, () => controller.abort());
    const answer = readPrices(this.#pricesUrl, controller.signal).finally(() => {
      cancel();
      this.#requests.delete(controller);
    });
    const inTime = await withinMs(answer, this.#timeoutMs, undefined, this.#clock);
    if (inTime !== undefined) return inTime;
    // After the timeout, a failure has no effect.
    void answer.then((late) => "body" in late && onLate(late.body));
    return { failure: "timeout", reason: `no answer within ${this.#timeoutMs} ms` };
  }

  close(): void {
    for (const request of this.#requests) request.abort();
  }
}

async function readPrices(url: string, signal: AbortSignal): Promise<PullResult> {
  try {
    const { status, text } = await request(url, { signal, maxBytes: PRICES_BYTES_MAX });
    if (status === 200) return { body: JSON.parse(text) };
    return { failure: "error", reason: `status ${status}` };
  } catch (thrown) {
    return { failure: "error", reason: reasonOf(thrown) };
  }
}
