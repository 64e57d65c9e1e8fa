import type { Clock } from "../../../lib/clock.ts";
import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { type Call, idText } from "../router/calls.ts";
import { limitExceeded, type ProxyError } from "../router/failures.ts";
import type { Hub } from "../hub/hub.ts";
import type { ClientSink, HubClient } from "../hub/hub_client.ts";
import { subscriptionMethod } from "../router/methods.ts";
import type { ProxyMetrics } from "../metrics.ts";
import { bodyText } from "../http_pool/reply_body.ts";
import { OutgoingMessage } from "../hub/messages.ts";
import { failureOf, failureText, type Router } from "../router/router.ts";
import { subscriptionRequest } from "../hub/subscription_request.ts";

/** Messages of one client that may be unanswered: what a browser tab sends at once is far below. */
export const OPEN_MESSAGES_MAX = 256;

/** What a {@link ClientSession} works with. */
export interface ClientSessionOptions {
  hub: Hub;
  router: Router;
  sink: ClientSink;
  clock: Clock;
  metrics: ProxyMetrics;
  /** Value of `X-Forwarded-For` for the node. */
  forwardedFor: string;
  maxMessageBytes: number;
  maxSubscriptions: number;
}

/** One client on a WebSocket: its requests go the way of HTTP ones, its subscriptions to the hub. */
export class ClientSession {
  readonly #options: ClientSessionOptions;
  readonly #client: HubClient;
  #open = 0;
  #ended = false;

  constructor(options: ClientSessionOptions) {
    this.#options = options;
    this.#client = options.hub.connect(options.sink);
  }

  /** Handles one message; what is answered goes to the sink. */
  async receive(text: string): Promise<void> {
    this.#options.metrics.wsMessages.inc({ direction: "upstream" });
    const refusal = this.#refusal(text);
    if (refusal !== undefined) return this.#send(failureText(null, refusal));
    this.#open += 1;
    let held = false;
    const subscriptions = (call: Call) => {
      const answer = this.#subscription(call);
      if (answer !== undefined && !held) {
        // The answer that carries the id has to leave before the first notification does.
        held = true;
        this.#client.hold();
      }
      return answer;
    };
    try {
      const { forwardedFor, router } = this.#options;
      const caller = { forwardedFor: () => forwardedFor, subscriptions };
      const { body } = await router.answer(text, caller);
      if (body !== null) this.#send(bodyText(body));
    } finally {
      this.#open -= 1;
      if (held) {
        this.#client.release();
        this.#options.hub.resume(this.#client);
      }
    }
  }

  /** The connection is gone. */
  end(): void {
    this.#ended = true;
    this.#options.hub.disconnect(this.#client);
  }

  #refusal(text: string): ProxyError | undefined {
    const { maxMessageBytes } = this.#options;
    if (byteLength(text, maxMessageBytes) > maxMessageBytes) {
      return limitExceeded(413, `Message is over ${maxMessageBytes} bytes`);
    }
    if (this.#open >= OPEN_MESSAGES_MAX) {
      return limitExceeded(429, `${OPEN_MESSAGES_MAX} messages are still unanswered`);
    }
  }

  /** The answer to a subscription call, or undefined where the call is none. */
  #subscription(call: Call): Promise<string> | undefined {
    const method = subscriptionMethod(call.method);
    if (method === undefined) return undefined;
    if (method.verb === "unsubscribe") return Promise.resolve(this.#unsubscribe(call));
    const { hub, clock, maxSubscriptions } = this.#options;
    if (this.#client.subscriptionCount >= maxSubscriptions) {
      const error = limitExceeded(429, `At most ${maxSubscriptions} subscriptions are taken`);
      return Promise.resolve(failureOf(call, error));
    }
    return new Promise((resolve) => {
      const request = subscriptionRequest(method.namespace, call);
      hub.subscribe(this.#client, request, clock.now(), (outcome) => {
        const member = "id" in outcome
          ? `"result":${JSON.stringify(outcome.id)}`
          : `"error":${outcome.errorText}`;
        resolve(`{"jsonrpc":"2.0","id":${idText(call)},${member}}`);
      });
    });
  }

  #unsubscribe(call: Call): string {
    const subscription: unknown = Array.isArray(call.params) ? call.params[0] : undefined;
    if (typeof subscription !== "string") {
      const message = `${call.method} takes the id of a subscription`;
      const error = JSON.stringify({ code: RpcCode.invalidParams, message });
      return `{"jsonrpc":"2.0","id":${idText(call)},"error":${error}}`;
    }
    const result = this.#options.hub.unsubscribe(this.#client, subscription);
    return `{"jsonrpc":"2.0","id":${idText(call)},"result":${result}}`;
  }

  #send(text: string): void {
    if (this.#ended) return;
    this.#options.metrics.wsMessages.inc({ direction: "downstream" });
    this.#options.sink.send([new OutgoingMessage(text)]);
  }
}

/** Bytes of a text in UTF-8, counted only where the limit could be passed. */
function byteLength(text: string, limit: number): number {
  return text.length * 3 <= limit ? text.length : new TextEncoder().encode(text).length;
}
