import type { CallerAddress } from "../../../lib/http/caller_address.ts";
import { CloseCode } from "../../../lib/http/web_socket.ts";
import type { Limit } from "../shared/metrics.ts";
import { FanOut, type FanOutEvents } from "./fan_out.ts";
import {
  EVICTED_REASON,
  NOT_RENEWED_REASON,
  REFUSAL_ERRORS,
  UNREACHABLE,
} from "./subscription_limits.ts";
import type { UpstreamPort } from "./subscribe_calls.ts";
import { SubscriptionTable } from "./subscription_table.ts";
import {
  type ClientSink,
  HubClient,
  type HubSubscription,
  type SubscribeOutcome,
} from "./subscriptions.ts";
import { type NodeFrame, tryParseNodeFrame, withIds } from "./notifications.ts";
import { filtersOf, NEW_HEADS_KEY, type SubscriptionRequest } from "./subscription_request.ts";

/** Events for metrics. */
export interface HubEvents extends FanOutEvents {
  onReceived(): void;
  onRefused(limit: Limit): void;
}

/** The node announced a block. @returns False to keep it from clients. */
type HeadCheck = (block: unknown) => boolean;

export interface HubOptions {
  /** Notifications kept for clients that are behind, all subscriptions together. */
  capacity: number;
  /** How long a subscribe waits while the node is disconnected or silent. */
  subscribeTimeoutMs: number;
  /** Most subscriptions at the node, not counting the shared feeds; see `subscription_limits.ts`. */
  maxSubscriptions: number;
  /** Whether a client that missed notifications continues, or is closed with 1013. */
  slowClients: "lag" | "close";
  events: HubEvents;
}

/**
 * Shares one connection to the node among all clients (spec: RPC proxy, "Subscription lifecycle in
 * the hub"). It uses no socket and no clock: its owner reports events with their time, and it calls
 * `send`.
 *
 * A notification comes from `node/subscription_socket.ts` to {@link receive}.
 * `subscription_table.ts` finds its subscription, `fan_out.ts` keeps it until `delivery_loop.ts`
 * calls {@link flush}, and `subscriptions.ts` sends it over `clients/client_queue.ts`.
 */
export class Hub {
  readonly #options: HubOptions;
  /** The node's side: its subscriptions and their ids. */
  readonly table: SubscriptionTable;
  readonly #fanOut: FanOut;
  readonly #clients = new Set<HubClient>();

  constructor(options: HubOptions) {
    this.#options = options;
    this.#fanOut = new FanOut({
      capacity: options.capacity,
      keepsSlowClients: options.slowClients === "lag",
      onTooSlow: (client, missed) => this.#close(client, `Too slow: ${missed} messages missed`),
      events: options.events,
    });
    const { subscribeTimeoutMs, maxSubscriptions } = options;
    this.table = new SubscriptionTable({
      subscribeTimeoutMs,
      maxSubscriptions,
      evict: (subscription) => this.#evict(subscription),
    });
  }

  /** Clients that are behind, in the order in which {@link catchUp} is to be called for them. */
  get clientsBehind(): ReadonlySet<HubClient> {
    return this.#fanOut.clientsBehind;
  }

  connect(sink: ClientSink, address: CallerAddress): HubClient {
    const client = new HubClient(sink, address);
    this.#clients.add(client);
    return client;
  }

  /** Removes a client, and ends the node's subscriptions that nobody else uses. */
  disconnect(client: HubClient): void {
    if (!this.#clients.delete(client)) return;
    this.#fanOut.remove(client);
    for (const subscription of [...client.subscriptions()]) this.#leave(client, subscription);
    client.cursor = undefined;
    // A subscription that nobody else waits for ends when the node answers, or at the next sweep.
    for (const subscription of [...client.pendingSubscriptions]) {
      this.#answerWaiter(subscription, client, UNREACHABLE);
    }
  }

  /** Subscribes a client. @param answer Called once, now or later. */
  subscribe(
    client: HubClient,
    request: SubscriptionRequest,
    nowMs: number,
    answer: (outcome: SubscribeOutcome) => void,
  ): void {
    // The hub closed this client; its last messages still arrive.
    if (!this.#clients.has(client)) return answer(UNREACHABLE);
    const obtained = this.table.obtain(request, client, nowMs);
    if (typeof obtained === "string") {
      this.#options.events.onRefused(obtained);
      return answer(REFUSAL_ERRORS[obtained]);
    }
    if (obtained.isLive) return answer(this.#join(client, obtained));
    const deadlineMs = nowMs + this.#options.subscribeTimeoutMs;
    obtained.waiters.set(client, { deadlineMs, answer });
    client.pendingSubscriptions.add(obtained);
    this.table.requestAtNode(obtained, nowMs);
  }

  /** Ends a subscription. @returns False if the id is not one of the client's. */
  unsubscribe(client: HubClient, id: string): boolean {
    const subscription = client.subscriptionOf(id);
    if (subscription === undefined) return false;
    this.#leave(client, subscription);
    return true;
  }

  /** Whether the node has granted a subscription to `newHeads`. */
  get followsHeads(): boolean {
    return this.table.isLive(NEW_HEADS_KEY);
  }

  /** @param upstream The connection, until it is closed. */
  onUpstreamOpened(upstream: UpstreamPort, nowMs: number): void {
    this.table.onOpened(upstream, nowMs);
  }

  /** The connection to the node is lost; clients keep their ids and wait. */
  onUpstreamClosed(): void {
    this.table.onClosed();
  }

  /** The node closed the connection because of what it was sent. */
  onUpstreamRejected(nowMs: number): void {
    for (const suspect of this.table.onRejected(nowMs)) {
      for (const subscription of [...suspect.withFiltered()]) {
        this.#answerWaiters(subscription, REFUSAL_ERRORS.socket_closed);
        this.table.retire(subscription);
      }
    }
  }

  /** Handles a frame of the node; {@link flush} is to follow. @returns False if it is malformed. */
  receive(text: string, acceptsHead: HeadCheck): boolean {
    const frame = tryParseNodeFrame(text);
    if (frame === undefined) return false;
    this.#options.events.onReceived();
    if (typeof frame.id === "number") this.#onAnswer(frame.id, text);
    else if (typeof frame.method === "string") {
      return this.#onNotification(frame, text, acceptsHead);
    }
    return true;
  }

  flush(): void {
    this.#fanOut.flush();
  }

  /** Tries again to send to a client that is behind. */
  catchUp(client: HubClient): void {
    this.#fanOut.catchUp(client);
  }

  /** Fails subscribes that took too long and asks the node again; call it about once a second. */
  sweep(nowMs: number): void {
    for (const subscription of [...this.table.subscriptions()]) {
      for (const [client, waiter] of subscription.waiters) {
        if (nowMs >= waiter.deadlineMs) this.#answerWaiter(subscription, client, UNREACHABLE);
      }
      this.table.retire(subscription);
    }
    this.table.sweep(nowMs);
  }

  #onAnswer(requestId: number, text: string): void {
    const answer = this.table.onAnswer(requestId, text);
    if (answer === undefined) return;
    const { subscription: answered, errorText } = answer;
    const outcome = errorText === undefined ? undefined : { errorText };
    for (const subscription of [...answered.withFiltered()]) {
      this.#answerWaiters(subscription, outcome);
      // Clients must not wait forever for a subscription that the node had granted.
      if (answered.isGivenUp) {
        for (const client of [...subscription.members]) this.#close(client, NOT_RENEWED_REASON);
      }
      this.table.retire(subscription);
    }
  }

  /** Closes the clients of a subscription: another caller gets its slot. */
  #evict(subscription: HubSubscription): void {
    for (const client of subscription.clients) {
      this.#options.events.onRefused("subscription_displaced");
      this.#close(client, EVICTED_REASON);
    }
    // Clients that only waited for it did not retire it when they were closed.
    this.table.retire(subscription);
  }

  /** Answers clients that wait for a subscription: with its id unless `outcome` is given. */
  #answerWaiters(subscription: HubSubscription, outcome?: SubscribeOutcome): void {
    for (const client of [...subscription.waiters.keys()]) {
      this.#answerWaiter(subscription, client, outcome);
    }
  }

  #answerWaiter(
    subscription: HubSubscription,
    client: HubClient,
    outcome?: SubscribeOutcome,
  ): void {
    const waiter = subscription.waiters.get(client);
    subscription.waiters.delete(client);
    client.pendingSubscriptions.delete(subscription);
    waiter?.answer(outcome ?? this.#join(client, subscription));
  }

  #join(client: HubClient, subscription: HubSubscription): SubscribeOutcome {
    const id = subscription.publicId;
    if (id === undefined) throw new TypeError("A subscription that is live has an id");
    if (subscription.unflushed.length > 0) this.flush(); // a new client gets only later ones
    subscription.members.add(client);
    client.join(subscription);
    return { id };
  }

  #leave(client: HubClient, subscription: HubSubscription): void {
    const missed = client.leave(subscription);
    if (missed > 0) this.#options.events.onLagged(missed);
    subscription.members.delete(client);
    this.table.retire(subscription);
  }

  /** @returns False if it is malformed: a thesis without its parties. */
  #onNotification(frame: NodeFrame, text: string, acceptsHead: HeadCheck): boolean {
    const upstreamId = frame.params?.subscription;
    if (typeof upstreamId !== "string") return true;
    const subscription = this.table.findByUpstreamId(upstreamId);
    if (subscription === undefined) {
      this.table.calls.onUnknownNotification(upstreamId, String(frame.method));
      return true;
    }
    const isHead = subscription.request.key === NEW_HEADS_KEY;
    if (isHead && !acceptsHead(frame.params?.result)) return true;
    const { filtered } = subscription;
    const filters = filtered.isEmpty ? [] : filtersOf(frame.params?.result);
    const selected = filters?.flatMap((filter) => filtered.valuesOf(filter)) ?? [];
    const textFor = withIds(text, upstreamId);
    for (const each of [subscription, ...selected]) {
      if (each.members.size > 0) this.#fanOut.publish(each, textFor(each.publicId));
    }
    return filters !== undefined;
  }

  #close(client: HubClient, reason: string): void {
    this.disconnect(client);
    client.sink.close(CloseCode.tryAgainLater, reason);
  }
}
