import type { RandomSource } from "../../../lib/clock.ts";
import { Feed } from "./upstream_subscription.ts";
import type { HubClient } from "./hub_client.ts";
import { memberText } from "../router/json_text.ts";
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
}

/** What the node said to a subscribe. */
export interface FeedAnswer {
  feed: Feed;
  /** JSON text of the node's error, or undefined where the feed is live now. */
  errorText?: string;
}

interface Ask {
  request: SubscriptionRequest;
  /** Undefined once nobody waits for the answer: a subscription granted late is ended at once. */
  feed: Feed | undefined;
  askedAtMs: number;
}

/** Unanswered requests kept for a late answer; a node that leaves so many is taken for faulty. */
const ABANDONED_MAX = 256;

/** Ids of notifications that nobody awaits, kept for one sweep; a node with more is not helped. */
const STRAYS_MAX = 256;

/** The subscriptions at the node: which there are, which are asked for, and under which ids. */
export class SubscriptionTable {
  readonly #options: SubscriptionTableOptions;
  /** Feeds by what they carry: several where one client asked for the same more than once. */
  readonly #byKey = new Map<string, Feed[]>();
  readonly #byUpstreamId = new Map<string, Feed>();
  readonly #publicIds = new Set<string>();
  readonly #asks = new Map<number, Ask>();
  #abandoned = 0;
  /** Ids of the node, with their namespace, that notified since the last sweep and belong to no feed. */
  #strays = new Map<string, string>();
  #suspects = new Map<string, string>();
  #lastRequestId = 0;

  constructor(options: SubscriptionTableOptions) {
    this.#options = options;
  }

  /** All feeds. */
  *feeds(): IterableIterator<Feed> {
    for (const feeds of this.#byKey.values()) yield* feeds;
  }

  /** Entries of every map: for tests that watch over growth. */
  get size(): { feeds: number; upstreamIds: number; publicIds: number; asks: number } {
    return {
      feeds: [...this.feeds()].length,
      upstreamIds: this.#byUpstreamId.size,
      publicIds: this.#publicIds.size,
      asks: this.#asks.size,
    };
  }

  /** A feed for a client: one that others use, unless the client already is among them. */
  obtain(request: SubscriptionRequest, client: HubClient): Feed {
    const feeds = this.#byKey.get(request.key) ?? [];
    const open = feeds.filter((feed) => !feed.involves(client));
    const shared = open.find((feed) => feed.upstreamId !== undefined) ?? open[0];
    if (shared !== undefined) return shared;
    const feed = new Feed(request);
    this.#byKey.set(request.key, [...feeds, feed]);
    return feed;
  }

  /** The feed behind an id of the node. */
  byUpstreamId(id: string): Feed | undefined {
    return this.#byUpstreamId.get(id);
  }

  /** Whether a feed with this key stands at the node. */
  isLive(key: string): boolean {
    return this.#byKey.get(key)?.some((feed) => feed.upstreamId !== undefined) ?? false;
  }

  /** Asks the node for a feed, unless it is asked for or live, or there is no connection. */
  ask(feed: Feed, nowMs: number): void {
    if (feed.askedAs !== undefined || feed.upstreamId !== undefined) return;
    const { namespace, paramsText } = feed.request;
    const id = this.#call(`${namespace}_subscribe`, paramsText);
    if (id === undefined) return;
    feed.askedAs = id;
    this.#asks.set(id, { request: feed.request, feed, askedAtMs: nowMs });
  }

  /** Ends a feed that nobody uses. One that the node was just asked for is ended at its answer. */
  retire(feed: Feed): void {
    if (!feed.idle || feed.askedAs !== undefined) return;
    if (feed.upstreamId !== undefined) {
      this.#byUpstreamId.delete(feed.upstreamId);
      this.#unsubscribe(feed.request.namespace, feed.upstreamId);
      feed.upstreamId = undefined;
    }
    this.#forget(feed);
  }

  /** A connection stands: everything is asked for again. */
  opened(nowMs: number): void {
    for (const feed of this.feeds()) this.ask(feed, nowMs);
  }

  /** The connection is gone, and with it all that the node knew. */
  closed(): void {
    this.#asks.clear();
    this.#abandoned = 0;
    this.#strays.clear();
    this.#suspects.clear();
    this.#byUpstreamId.clear();
    for (const feed of [...this.feeds()]) {
      feed.upstreamId = feed.askedAs = undefined;
      this.retire(feed);
    }
  }

  /** Reads an answer of the node. @returns Undefined where nobody waits for it. */
  answered(requestId: number, text: string): FeedAnswer | undefined {
    const ask = this.#asks.get(requestId);
    if (ask === undefined) return undefined;
    this.#asks.delete(requestId);
    const upstreamId = resultId(text);
    const { feed } = ask;
    if (feed === undefined) {
      this.#abandoned -= 1;
      if (upstreamId !== undefined) this.#unsubscribe(ask.request.namespace, upstreamId);
      return undefined;
    }
    feed.askedAs = undefined;
    if (upstreamId === undefined) return { feed, errorText: errorOf(text) };
    if (this.#byUpstreamId.has(upstreamId)) {
      return { feed, errorText: internalError("The node gave one id to two subscriptions") };
    }
    this.#goLive(feed, upstreamId);
    return { feed };
  }

  /**
   * Takes note of a notification that belongs to no feed. One may be under way when its subscription
   * ends; but an id that goes on for two sweeps is a subscription whose answer was lost.
   */
  stray(upstreamId: string, namespace: string): void {
    if (this.#strays.size < STRAYS_MAX) this.#strays.set(upstreamId, namespace);
  }

  /** Gives up requests that the node has not answered in time, and asks again where it matters. */
  sweep(nowMs: number): void {
    for (const ask of this.#asks.values()) {
      if (ask.feed === undefined || nowMs - ask.askedAtMs < this.#options.askTimeoutMs) continue;
      ask.feed.askedAs = undefined;
      this.retire(ask.feed);
      ask.feed = undefined;
      this.#abandoned += 1;
    }
    if (this.#abandoned > ABANDONED_MAX) {
      this.#options.upstream.drop(`${this.#abandoned} subscribe requests left unanswered`);
    }
    for (const feed of this.feeds()) this.ask(feed, nowMs);
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

  #goLive(feed: Feed, upstreamId: string): void {
    feed.upstreamId = upstreamId;
    feed.refusals = 0;
    this.#byUpstreamId.set(upstreamId, feed);
    if (feed.publicId !== undefined) return;
    feed.publicId = this.#publicIds.has(upstreamId) ? this.#freshId() : upstreamId;
    this.#publicIds.add(feed.publicId);
  }

  #forget(feed: Feed): void {
    if (feed.publicId !== undefined) this.#publicIds.delete(feed.publicId);
    const { key } = feed.request;
    const others = this.#byKey.get(key)?.filter((other) => other !== feed) ?? [];
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
