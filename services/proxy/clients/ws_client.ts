import { Buffer } from "node:buffer";
import type { Clock } from "../../../lib/clock.ts";
import { idBesideParams, RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import type { CallerAddress } from "../../../lib/http/caller_address.ts";
import type { RequestLimiter } from "../../../lib/http/limiter.ts";
import { CloseCode } from "../../../lib/http/web_socket.ts";
import { memberText } from "../../../lib/json_text.ts";
import { type AddressCounts, type CallerBytes, SMALL_BYTES } from "../shared/limits.ts";
import type { Hub } from "../hub/hub.ts";
import type { ClientSink, HubClient } from "../hub/subscriptions.ts";
import { OutgoingMessage } from "../hub/notifications.ts";
import { parseSubscriptionRequest, type SubscriptionRequest } from "../hub/subscription_request.ts";
import type { Limit, ProxyMetrics } from "../shared/metrics.ts";
import type { Call } from "../calls/message.ts";
import {
  answerText,
  failureText,
  limitExceeded,
  ProxyError,
  retryAdvice,
  TOO_MANY_REQUESTS,
} from "../shared/failures.ts";
import { tryParseSubscriptionMethod } from "../calls/method_kinds.ts";
import type { RoutedAnswer, Router } from "../calls/router.ts";

interface AnswerSink extends ClientSink {
  /** Whether an answer of this many bytes may be queued. */
  tryAdmitAnswer(bytes: number): boolean;
  /** Sends an answer that was admitted. */
  sendAnswer(message: OutgoingMessage): void;
}

export interface WsClientOptions {
  hub: Pick<Hub, "connect" | "disconnect" | "catchUp" | "subscribe" | "unsubscribe">;
  router: Pick<Router, "answer">;
  sink: AnswerSink;
  clock: Clock;
  metrics: ProxyMetrics;
  address: CallerAddress;
  /** Unanswered requests and messages by caller, also over HTTP; subscriptions do not count. */
  openRequests: AddressCounts;
  /** Bytes of large unanswered messages. */
  callerBytes: CallerBytes;
  maxMessageBytes: number;
  maxSubscriptionsPerClient: number;
  /** Not set: no limit. */
  limiter?: Pick<RequestLimiter, "count"> | undefined;
}

/** One WebSocket client: its calls go to the router, its subscriptions to the hub. */
export class WsClient {
  readonly #options: WsClientOptions;
  readonly #client: HubClient;
  #hasEnded = false;

  constructor(options: WsClientOptions) {
    this.#options = options;
    this.#client = options.hub.connect(options.sink, options.address);
  }

  /** Handles one message and sends its answer. */
  async receive(text: string): Promise<void> {
    const { metrics, maxMessageBytes, sink, openRequests, address, callerBytes } = this.#options;
    metrics.sockets.upstream.count += 1;
    if (isLonger(text, maxMessageBytes)) {
      metrics.countRefusal("message_bytes");
      return sink.close(CloseCode.tooBig, `Message is over ${maxMessageBytes} bytes`);
    }
    const bytes = text.length > SMALL_BYTES ? text.length : 0;
    if (bytes > 0 && !callerBytes.tryAdd(address, bytes)) {
      return this.#refuse(
        text,
        "buffered_bytes",
        "The proxy holds too many large messages: try again",
      );
    }
    if (!openRequests.tryAdd(address)) {
      callerBytes.remove(address, bytes);
      return this.#refuse(text, "requests_per_address", TOO_MANY_REQUESTS);
    }
    try {
      await this.#route(text);
    } finally {
      callerBytes.remove(address, bytes);
    }
  }

  /** Answers a counted message. */
  async #route(text: string): Promise<void> {
    const { address, limiter, openRequests, router } = this.#options;
    let isCounted = true;
    const subscribe = (call: Call) => {
      const method = tryParseSubscriptionMethod(call.method);
      if (method === undefined) return undefined;
      // It uses no connection to a node, and may wait long for an unreachable node: it does not count
      // as an open request.
      isCounted = false;
      openRequests.remove(address);
      if (method.verb === "unsubscribe") return this.#unsubscribe(call);
      return this.#subscribe(method.namespace, call);
    };
    try {
      const waitS = limiter && await limiter.count(address);
      if (waitS !== undefined) {
        return this.#refuse(text, "request_rate", `Too many requests: retry after ${waitS} s`);
      }
      const { body, target } = await router.answer(text, address, subscribe);
      if (body !== null) this.#answer(body, target);
    } finally {
      if (isCounted) openRequests.remove(address);
    }
  }

  /** The connection's queue has capacity again. */
  onDrained(): void {
    this.#options.hub.catchUp(this.#client);
  }

  end(): void {
    this.#hasEnded = true;
    this.#options.hub.disconnect(this.#client);
  }

  /** Refuses a message without parsing it, under its id, which the client waits for. */
  #refuse(text: string, limit: Limit, message: string): void {
    this.#options.metrics.countRefusal(limit);
    this.#answer(failureText(JSON.stringify(idBesideParams(text)), limitExceeded(429, message)));
  }

  /**
   * Resolves when a subscribe is answered. Notifications come after the answer with their id, so that
   * is sent in the moment of the grant. The subscription ends if it cannot be sent.
   *
   * @throws {ProxyError} If it is refused.
   */
  #subscribe(namespace: string, call: Call): Promise<void> {
    const { hub, clock } = this.#options;
    const request = this.#requireRequest(namespace, call);
    return new Promise((resolve) => {
      hub.subscribe(this.#client, request, clock.now(), (outcome) => {
        resolve();
        if ("errorText" in outcome) this.#answerCall(call, "error", outcome.errorText);
        else if (!this.#answerCall(call, "result", JSON.stringify(outcome.id))) {
          hub.unsubscribe(this.#client, outcome.id);
        }
      });
    });
  }

  /** Reads the parameters of a subscribe. @throws {ProxyError} If it is refused, which is counted. */
  #requireRequest(namespace: string, call: Call): SubscriptionRequest {
    const { maxSubscriptionsPerClient, metrics } = this.#options;
    if (this.#client.subscriptionCount >= maxSubscriptionsPerClient) {
      metrics.countRefusal("subscriptions_per_client");
      const message = `A client may have ${maxSubscriptionsPerClient} subscriptions: end one first`;
      throw limitExceeded(429, message);
    }
    try {
      return parseSubscriptionRequest(namespace, call);
    } catch (thrown) {
      if (thrown instanceof ProxyError) metrics.countRefusal("subscription_parameters");
      throw thrown;
    }
  }

  /** @throws {ProxyError} Without the id of a subscription. */
  #unsubscribe(call: Call): Promise<void> {
    const subscription: unknown = Array.isArray(call.params) ? call.params[0] : undefined;
    if (typeof subscription !== "string") {
      const message = `Invalid params: ${call.method} takes the id of a subscription: received ${
        JSON.stringify(subscription) ?? "nothing"
      }`;
      throw new ProxyError(400, RpcCode.invalidParams, message);
    }
    const isEnded = this.#options.hub.unsubscribe(this.#client, subscription);
    this.#answerCall(call, "result", String(isEnded));
    return Promise.resolve();
  }

  /** Sends the answer to a call that has an id. @returns False if it cannot be sent. */
  #answerCall({ id }: Call, member: "result" | "error", value: string): boolean {
    return id === undefined || this.#answer(answerText(id, member, value));
  }

  /**
   * Sends an answer, or an error in its place if the process holds too many unread bytes.
   *
   * @returns Whether it sent the answer.
   */
  #answer(text: string, target: RoutedAnswer["target"] = "proxy"): boolean {
    if (this.#hasEnded) return false;
    const { sink, metrics } = this.#options;
    let message = new OutgoingMessage(text);
    const isAdmitted = sink.tryAdmitAnswer(message.byteLength);
    if (!isAdmitted) {
      const advice = retryAdvice(target === "write" || target === "mixed" ? "write" : "read");
      const error = limitExceeded(429, `Too many bytes of answers are unread${advice}`);
      const id = text.startsWith("{") ? memberText(text, "id") : undefined;
      message = new OutgoingMessage(failureText(id, error));
      if (!sink.tryAdmitAnswer(message.byteLength)) {
        sink.close(CloseCode.tryAgainLater, "Answers are not read");
        return false;
      }
    }
    metrics.sockets.downstream.count += 1;
    sink.sendAnswer(message);
    return isAdmitted;
  }
}

/** Whether a text is over `maxBytes` in UTF-8; its bytes are only counted if it may be. */
function isLonger(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes;
}
