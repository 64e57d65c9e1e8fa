import type { RandomSource } from "../../../lib/clock.ts";
import { type HubClient, SharedSubscription, SubscriptionsByKey } from "./hub_client.ts";
import { memberText } from "../json_text.ts";
import { SubscriptionLimits, type SubscriptionRefusal } from "./subscription_limits.ts";
import { ALL_THESES, type SubscriptionRequest } from "./subscription_request.ts";

/** The hub's side of the connection to the node. */
export interface UpstreamPort {
  /** Sends a frame. @returns False if there is no connection. */
  send(text: string): boolean;
  /** Closes the present connection as faulty. */
  drop(reason: string): void;
}

/** Options of a {@link SubscriptionTable}. */
export interface SubscriptionTableOptions {
  upstream: UpstreamPort;
  /** Makes the public id of a subscription whose id at the node is taken. */
  random: RandomSource;
  /** How long the node may take to answer a subscribe. */
  askTimeoutMs: number;
  /** Most subscriptions at the node, without those that everybody shares. */
  maxSubscriptions: number;
  /** Ends a subscription whose place another caller gets. */
  displace: (subscription: SharedSubscription) => void;
}

/** The node's answer to a subscribe. */
export interface SubscribeAnswer {
  subscription: SharedSubscription;
  /** JSON text of the node's error; undefined if the subscription is live now. */
  errorText?: string;
}

interface Ask {
  request: SubscriptionRequest;
  /** Undefined after it timed out: a subscription granted late is ended at once. */
  subscription: SharedSubscription | undefined;
  askedAtMs: number;
}

/** Most timed-out requests that may still be answered; with more, the connection counts as faulty. */
const ABANDONED_MAX = 256;

/** Most unknown subscription ids kept for one sweep; more are ignored. */
const STRAYS_MAX = 256;

/** The subscriptions at the node, live or requested, and their ids. */
export class SubscriptionTable {
  readonly #options: SubscriptionTableOptions;
  readonly #byKey = new SubscriptionsByKey();
  readonly #byUpstreamId = new Map<string, SharedSubscription>();
  readonly #publicIds = new Set<string>();
  readonly #asks = new Map<number, Ask>();
  #abandoned = 0;
  /** Unknown ids that notified since the last sweep, with their namespace. */
  #strays = new Map<string, string>();
  #suspects = new Map<string, string>();
  readonly #limits: SubscriptionLimits;
  #lastRequestId = 0;

  constructor(options: SubscriptionTableOptions) {
    this.#options = options;
    this.#limits = new SubscriptionLimits(options.maxSubscriptions, options.displace);
  }

  /** Subscriptions at the node, and those requested from it. */
  get count(): number {
    let count = 0;
    for (const { feed } of this.subscriptions()) if (feed === undefined) count += 1;
    return count;
  }

  /** All subscriptions. */
  subscriptions(): IterableIterator<SharedSubscription> {
    return this.#byKey.all();
  }

  /** Entries of every map, for tests of leaks. */
  get size(): { subscriptions: number; upstreamIds: number; publicIds: number; asks: number } {
    return {
      subscriptions: [...this.subscriptions()].length,
      upstreamIds: this.#byUpstreamId.size,
      publicIds: this.#publicIds.size,
      asks: this.#asks.size,
    };
  }

  /**
   * A subscription for a client: a shared one, unless the client uses that already.
   *
   * @returns The reason to refuse a new one, if it is refused.
   */
  obtain(
    request: SubscriptionRequest,
    client: HubClient,
  ): SharedSubscription | SubscriptionRefusal {
    const equal = this.#byKey.of(request.key);
    const open = equal.filter((subscription) => !subscription.involves(client));
    const shared = open.find(({ isLive }) => isLive) ?? open[0];
    if (shared !== undefined) return shared;
    const subscription = new SharedSubscription(request, client, this.#feedFor(request, client));
    const refusal = this.#limits.add(subscription, equal.length);
    if (refusal !== undefined) return refusal;
    this.#byKey.add(request.key, subscription);
    this.#addToFeed(subscription);
    return subscription;
  }

  /** The subscription to all theses, if the hub can filter a request from it. */
  #feedFor(
    { thesisFilter }: SubscriptionRequest,
    client: HubClient,
  ): SharedSubscription | undefined {
    if (thesisFilter === undefined) return undefined;
    return this.#byKey.of(ALL_THESES.key)[0] ?? new SharedSubscription(ALL_THESES, client);
  }

  #addToFeed(subscription: SharedSubscription): void {
    const { feed, request: { thesisFilter } } = subscription;
    if (feed === undefined || thesisFilter === undefined) return;
    if (!this.#byKey.of(ALL_THESES.key).includes(feed)) this.#byKey.add(ALL_THESES.key, feed);
    feed.filtered ??= new SubscriptionsByKey();
    feed.filtered.add(thesisFilter, subscription);
    subscription.publicId = this.#freshId();
    this.#publicIds.add(subscription.publicId);
  }

  /** The subscription behind an id of the node. */
  byUpstreamId(id: string): SharedSubscription | undefined {
    return this.#byUpstreamId.get(id);
  }

  /** Whether the node has granted a subscription with this key. */
  isLive(key: string): boolean {
    return this.#byKey.of(key).some(({ isLive }) => isLive);
  }

  /** Requests a subscription from the node, unless it is already requested or live. */
  ask(wanted: SharedSubscription, nowMs: number): void {
    const subscription = wanted.feed ?? wanted;
    if (subscription.askedAs !== undefined || subscription.upstreamId !== undefined) return;
    const { namespace, paramsText } = subscription.request;
    const id = this.#call(`${namespace}_subscribe`, paramsText);
    if (id === undefined) return;
    subscription.askedAs = id;
    this.#asks.set(id, { request: subscription.request, subscription, askedAtMs: nowMs });
  }

  /** Ends a subscription that nobody uses; a requested one ends with the node's answer. */
  retire(subscription: SharedSubscription): void {
    if (!subscription.idle) return this.#limits.handOver(subscription);
    if (subscription.askedAs !== undefined) return;
    if (subscription.upstreamId !== undefined) {
      this.#byUpstreamId.delete(subscription.upstreamId);
      this.#unsubscribe(subscription.request.namespace, subscription.upstreamId);
      subscription.upstreamId = undefined;
    }
    this.#forget(subscription);
    if (subscription.feed !== undefined) this.retire(subscription.feed);
  }

  /** The connection is open: every subscription is requested again. */
  opened(nowMs: number): void {
    this.#limits.nowMs = nowMs;
    for (const subscription of this.subscriptions()) this.ask(subscription, nowMs);
  }

  /**
   * The connection is lost, and with it the node's subscriptions.
   *
   * @param isRefusal The node closed it because of what it was sent.
   * @returns Subscriptions that are not requested again: the node had never granted them, and they
   *   were requested when it closed the connection.
   */
  closed(isRefusal: boolean): SharedSubscription[] {
    const suspects = isRefusal ? this.#newAsks() : [];
    const [only] = suspects;
    // Not all of several need be the cause: a client can subscribe again.
    if (only !== undefined && suspects.length === 1) this.#limits.remember(only.request.key);
    this.#asks.clear();
    this.#abandoned = 0;
    this.#strays.clear();
    this.#suspects.clear();
    this.#byUpstreamId.clear();
    for (const subscription of [...this.subscriptions()]) {
      subscription.upstreamId = subscription.askedAs = undefined;
      this.retire(subscription);
    }
    return suspects;
  }

  #newAsks(): SharedSubscription[] {
    return [...this.#asks.values()].flatMap(({ subscription }) =>
      subscription !== undefined && subscription.publicId === undefined ? [subscription] : []
    );
  }

  /** Handles an answer of the node. @returns Undefined if nobody waits for it. */
  answered(requestId: number, text: string): SubscribeAnswer | undefined {
    const ask = this.#asks.get(requestId);
    if (ask === undefined) return undefined;
    this.#asks.delete(requestId);
    const upstreamId = resultId(text);
    const { subscription } = ask;
    if (subscription === undefined) {
      this.#abandoned -= 1;
      if (upstreamId !== undefined) this.#unsubscribe(ask.request.namespace, upstreamId);
      return undefined;
    }
    subscription.askedAs = undefined;
    if (upstreamId === undefined) return { subscription, errorText: errorOf(text) };
    if (this.#byUpstreamId.has(upstreamId)) {
      return {
        subscription,
        errorText: internalError("The node gave one id to two subscriptions"),
      };
    }
    this.#goLive(subscription, upstreamId);
    return { subscription };
  }

  /**
   * Records a notification of an unknown subscription. Some arrive after an unsubscribe, but an id that
   * continues for two sweeps is a subscription whose answer was lost.
   */
  stray(upstreamId: string, namespace: string): void {
    if (this.#strays.size < STRAYS_MAX) this.#strays.set(upstreamId, namespace);
  }

  /** Gives up requests that the node did not answer in time, and repeats those still needed. */
  sweep(nowMs: number): void {
    this.#limits.nowMs = nowMs;
    for (const ask of this.#asks.values()) {
      if (ask.subscription === undefined || nowMs - ask.askedAtMs < this.#options.askTimeoutMs) {
        continue;
      }
      ask.subscription.askedAs = undefined;
      this.retire(ask.subscription);
      ask.subscription = undefined;
      this.#abandoned += 1;
    }
    if (this.#abandoned > ABANDONED_MAX) {
      this.#options.upstream.drop(`${this.#abandoned} subscribe requests left unanswered`);
    }
    for (const subscription of this.subscriptions()) this.ask(subscription, nowMs);
    this.#endStrays();
  }

  #endStrays(): void {
    // While an answer is pending, an unknown id may be the one in that answer.
    const awaited = this.#asks.size > this.#abandoned;
    for (const [id, namespace] of awaited ? [] : this.#strays) {
      if (this.#suspects.has(id) && !this.#byUpstreamId.has(id)) this.#unsubscribe(namespace, id);
    }
    this.#suspects = this.#strays;
    this.#strays = new Map();
  }

  #goLive(subscription: SharedSubscription, upstreamId: string): void {
    subscription.upstreamId = upstreamId;
    subscription.refusals = 0;
    this.#byUpstreamId.set(upstreamId, subscription);
    if (subscription.publicId !== undefined) return;
    subscription.publicId = this.#publicIds.has(upstreamId) ? this.#freshId() : upstreamId;
    this.#publicIds.add(subscription.publicId);
  }

  #forget(subscription: SharedSubscription): void {
    const { request: { key, thesisFilter = "" }, feed, publicId } = subscription;
    this.#limits.remove(subscription);
    if (publicId !== undefined) this.#publicIds.delete(publicId);
    this.#byKey.delete(key, subscription);
    feed?.filtered?.delete(thesisFilter, subscription);
  }

  #unsubscribe(namespace: string, upstreamId: string): void {
    // Nothing depends on the answer.
    this.#call(`${namespace}_unsubscribe`, JSON.stringify([upstreamId]));
  }

  #call(method: string, paramsText: string): number | undefined {
    const id = this.#lastRequestId += 1;
    const name = JSON.stringify(method);
    const text = `{"jsonrpc":"2.0","id":${id},"method":${name},"params":${paramsText}}`;
    return this.#options.upstream.send(text) ? id : undefined;
  }

  #freshId(): string {
    for (;;) {
      let id = "0x";
      while (id.length < 34) id += Math.floor(this.#options.random() * 16).toString(16);
      if (!this.#publicIds.has(id)) return id;
    }
  }
}

function resultId(text: string): string | undefined {
  const result: unknown = JSON.parse(memberText(text, "result") ?? "null");
  return typeof result === "string" ? result : undefined;
}

function errorOf(text: string): string {
  return memberText(text, "error") ??
    internalError("The node answered a subscribe with neither an id nor an error");
}

function internalError(message: string): string {
  return JSON.stringify({ code: -32603, message });
}
