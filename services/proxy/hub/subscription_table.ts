import type { RandomSource } from "../../../lib/clock.ts";
import { UpstreamSubscription } from "./hub_client.ts";
import type { HubClient } from "./hub_client.ts";
import { memberText } from "../json_text.ts";
import { AddressCounts, PEER_SHARE } from "../caller_address.ts";
import type { SubscriptionRequest } from "./subscription_request.ts";

/** The connection to the node, as the hub sees it. */
export interface UpstreamPort {
  /** Sends a frame. @returns False where there is no connection. */
  send(text: string): boolean;
  /** Gives up the present connection as faulty. */
  drop(reason: string): void;
}

/** What a {@link SubscriptionTable} works with. */
export interface SubscriptionTableOptions {
  upstream: UpstreamPort;
  /** For ids of subscriptions whose id at the node is taken. */
  random: RandomSource;
  /** How long the node may take to answer a subscribe. */
  askTimeoutMs: number;
  /** Most subscriptions at the node. */
  maxSubscriptions: number;
}

/** The part of all subscriptions at the node that one address may cause. */
const ADDRESS_SHARE = 1 / 8;

/** The limits that a new subscription at the node can reach. */
export type SubscriptionLimit = "upstream_subscriptions" | "upstream_subscriptions_per_address";

/** Equal subscriptions at the node: one client that asks again needs a second id of its own. */
const COPIES_MAX = 16;

/** How long a request that made the node close the socket is refused, in milliseconds. */
const POISON_MS = 600_000;

/** Such requests that are remembered; the oldest is forgotten first. */
const POISON_MAX = 256;

/** What the node said to a subscribe. */
export interface SubscribeAnswer {
  subscription: UpstreamSubscription;
  /** JSON text of the node's error, or undefined where the subscription is live now. */
  errorText?: string;
}

interface Ask {
  request: SubscriptionRequest;
  /** Undefined once nobody waits for the answer: a subscription granted late is ended at once. */
  subscription: UpstreamSubscription | undefined;
  askedAtMs: number;
}

/** Unanswered requests kept for a late answer; a node that leaves so many is taken for faulty. */
const ABANDONED_MAX = 256;

/** Ids of notifications that nobody awaits, kept for one sweep; a node with more is not helped. */
const STRAYS_MAX = 256;

/** The subscriptions at the node: which there are, which are asked for, and under which ids. */
export class SubscriptionTable {
  readonly #options: SubscriptionTableOptions;
  /** Subscriptions by what they carry: several where one client asked for the same more than once. */
  readonly #byKey = new Map<string, UpstreamSubscription[]>();
  readonly #byUpstreamId = new Map<string, UpstreamSubscription>();
  readonly #publicIds = new Set<string>();
  readonly #asks = new Map<number, Ask>();
  #abandoned = 0;
  /** Ids of the node, with their namespace, that notified since the last sweep and belong to no subscription. */
  #strays = new Map<string, string>();
  #suspects = new Map<string, string>();
  /** Requests that made the node close the socket, and when they may be sent again. */
  readonly #poison = new Map<string, number>();
  /** Subscriptions at the node or on the way there, by the address that caused them. */
  readonly #counts: AddressCounts;
  #size = 0;
  #nowMs = 0;
  #lastRequestId = 0;

  constructor(options: SubscriptionTableOptions) {
    this.#options = options;
    const { maxSubscriptions: max } = options;
    this.#counts = new AddressCounts(
      Math.max(1, Math.floor(max * ADDRESS_SHARE)),
      Math.max(1, Math.floor(max * PEER_SHARE)),
    );
  }

  /** Subscriptions at the node, and those that it is asked for. */
  get count(): number {
    return this.#size;
  }

  /** All subscriptions. */
  *subscriptions(): IterableIterator<UpstreamSubscription> {
    for (const subscriptions of this.#byKey.values()) yield* subscriptions;
  }

  /** Entries of every map: for tests that watch over growth. */
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
   * @returns The limit that a new one would exceed, or "poison" if the node closed the socket on it.
   */
  obtain(
    request: SubscriptionRequest,
    client: HubClient,
  ): UpstreamSubscription | SubscriptionLimit | "poison" {
    const subscriptions = this.#byKey.get(request.key) ?? [];
    const open = subscriptions.filter((subscription) => !subscription.involves(client));
    const shared = open.find((subscription) => subscription.upstreamId !== undefined) ?? open[0];
    if (shared !== undefined) return shared;
    if ((this.#poison.get(request.key) ?? -Infinity) > this.#nowMs) return "poison";
    if (subscriptions.length >= COPIES_MAX) return "upstream_subscriptions_per_address";
    if (this.#size >= this.#options.maxSubscriptions) return "upstream_subscriptions";
    if (!this.#counts.tryAdd(client.address)) return "upstream_subscriptions_per_address";
    this.#size += 1;
    const subscription = new UpstreamSubscription(request, client);
    this.#byKey.set(request.key, [...subscriptions, subscription]);
    return subscription;
  }

  /** The subscription behind an id of the node. */
  byUpstreamId(id: string): UpstreamSubscription | undefined {
    return this.#byUpstreamId.get(id);
  }

  /** Whether a subscription with this key stands at the node. */
  isLive(key: string): boolean {
    return this.#byKey.get(key)?.some((subscription) => subscription.upstreamId !== undefined) ??
      false;
  }

  /** Asks the node for a subscription, unless it is asked for or live, or there is no connection. */
  ask(subscription: UpstreamSubscription, nowMs: number): void {
    if (subscription.askedAs !== undefined || subscription.upstreamId !== undefined) return;
    const { namespace, paramsText } = subscription.request;
    const id = this.#call(`${namespace}_subscribe`, paramsText);
    if (id === undefined) return;
    subscription.askedAs = id;
    this.#asks.set(id, { request: subscription.request, subscription, askedAtMs: nowMs });
  }

  /** Ends a subscription that nobody uses. One that the node was just asked for is ended at its answer. */
  retire(subscription: UpstreamSubscription): void {
    if (!subscription.idle) return this.#handOver(subscription);
    if (subscription.askedAs !== undefined) return;
    if (subscription.upstreamId !== undefined) {
      this.#byUpstreamId.delete(subscription.upstreamId);
      this.#unsubscribe(subscription.request.namespace, subscription.upstreamId);
      subscription.upstreamId = undefined;
    }
    this.#forget(subscription);
  }

  /** A connection stands: everything is asked for again. */
  opened(nowMs: number): void {
    this.#nowMs = nowMs;
    for (const subscription of this.subscriptions()) this.ask(subscription, nowMs);
  }

  /**
   * The connection is gone, and with it all that the node knew.
   *
   * @param isRefusal The node closed it because of what it was sent.
   * @returns Subscriptions that are not asked for again: the node had not granted them before, and
   *   was asked for them when it closed the connection.
   */
  closed(isRefusal: boolean): UpstreamSubscription[] {
    const suspects = isRefusal ? this.#newAsks() : [];
    const [only] = suspects;
    // One of several may be innocent: its client can ask again.
    if (only !== undefined && suspects.length === 1) this.#remember(only.request.key);
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

  #newAsks(): UpstreamSubscription[] {
    return [...this.#asks.values()].flatMap(({ subscription }) =>
      subscription !== undefined && subscription.publicId === undefined ? [subscription] : []
    );
  }

  #remember(key: string): void {
    const [oldest] = this.#poison.keys();
    if (oldest !== undefined && this.#poison.size >= POISON_MAX) this.#poison.delete(oldest);
    this.#poison.set(key, this.#nowMs + POISON_MS);
  }

  /** Makes a subscription count for a client that uses it, if its payer no longer does. */
  #handOver(subscription: UpstreamSubscription): void {
    if (subscription.involves(subscription.payer)) return;
    const [user] = [...subscription.members, ...subscription.waiters.keys()];
    if (user === undefined) return;
    this.#counts.remove(subscription.payer.address);
    // The new payer may thereby be over its limit: then it gets no further ones.
    this.#counts.add(user.address);
    subscription.payer = user;
  }

  /** Reads an answer of the node. @returns Undefined where nobody waits for it. */
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
   * Takes note of a notification that belongs to no subscription. One may be under way when its subscription
   * ends; but an id that goes on for two sweeps is a subscription whose answer was lost.
   */
  stray(upstreamId: string, namespace: string): void {
    if (this.#strays.size < STRAYS_MAX) this.#strays.set(upstreamId, namespace);
  }

  /** Gives up requests that the node has not answered in time, and asks again where it matters. */
  sweep(nowMs: number): void {
    this.#nowMs = nowMs;
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
    // While an answer is awaited, an unknown id may be the one that it is going to bring.
    const awaited = this.#asks.size > this.#abandoned;
    for (const [id, namespace] of awaited ? [] : this.#strays) {
      if (this.#suspects.has(id) && !this.#byUpstreamId.has(id)) this.#unsubscribe(namespace, id);
    }
    this.#suspects = this.#strays;
    this.#strays = new Map();
  }

  #goLive(subscription: UpstreamSubscription, upstreamId: string): void {
    subscription.upstreamId = upstreamId;
    subscription.refusals = 0;
    this.#byUpstreamId.set(upstreamId, subscription);
    if (subscription.publicId !== undefined) return;
    subscription.publicId = this.#publicIds.has(upstreamId) ? this.#freshId() : upstreamId;
    this.#publicIds.add(subscription.publicId);
  }

  #forget(subscription: UpstreamSubscription): void {
    this.#size -= 1;
    this.#counts.remove(subscription.payer.address);
    if (subscription.publicId !== undefined) this.#publicIds.delete(subscription.publicId);
    const { key } = subscription.request;
    const others = this.#byKey.get(key)?.filter((other) => other !== subscription) ?? [];
    if (others.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, others);
  }

  #unsubscribe(namespace: string, upstreamId: string): void {
    // Nothing depends on the answer, so it is not waited for.
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
