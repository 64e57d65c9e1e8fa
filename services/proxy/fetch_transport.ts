import { bytesWithin } from "./bounded_body.ts";
import { ANSWER_BYTES_MAX, type NodeReply } from "./node_reply.ts";
import { type HttpTransport, ReplyTimeoutError, type TransportOptions } from "./transport.ts";

/** Posts by the platform's `fetch`: for nodes behind TLS, where it speaks HTTP/2 as well. */
export class FetchTransport implements HttpTransport {
  readonly #options: TransportOptions;
  /** What is under way; bounded by the callers' open requests. */
  readonly #open = new Set<AbortController>();

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  async post(text: string, forwardedFor: string): Promise<NodeReply> {
    const { url, timeoutMs, clock } = this.#options;
    // AbortSignal.timeout would keep a timer alive for the whole timeout after every quick answer.
    const controller = new AbortController();
    this.#open.add(controller);
    const cancel = clock.after(timeoutMs, () => controller.abort(new ReplyTimeoutError(timeoutMs)));
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", "x-forwarded-for": forwardedFor },
        body: text,
        // To follow one would send a write a second time.
        redirect: "manual",
        signal: controller.signal,
      });
      const body = await bytesWithin(response, ANSWER_BYTES_MAX);
      if (body === undefined) throw new Error(`Answer is over ${ANSWER_BYTES_MAX} bytes`);
      return { status: response.status, body };
    } finally {
      cancel();
      this.#open.delete(controller);
    }
  }

  stop(): void {
    for (const controller of this.#open) controller.abort(new Error("The proxy stops"));
  }
}
