import type { RandomSource } from "../../lib/clock.ts";
import { RpcCode } from "../../lib/protocol/jsonrpc.ts";
import { BroadcastRing } from "./broadcast_ring.ts";
import type { Feed, Notice, SubscribeOutcome } from "./feed.ts";
import { FeedBook, type UpstreamPort } from "./feed_book.ts";
import { type ClientSink, HubClient } from "./hub_client.ts";
import { memberText, replaceMember } from "./json_text.ts";
import { OutgoingMessage } from "./outgoing_message.ts";
import type { SubscriptionRequest } from "./subscription_request.ts";

/** What a hub tells whoever counts. */
export interface HubEvents {
  /** A notification came from the node. */
  received(): void;
  /** So many notifications were sent to clients. */
  sent(count: number): void;
  /** So many notifications were missed by a client that was too slow. */
  lagged(count: number): void;
  /** Clients now hold so many subscriptions, all together. */
  subscribed(total: number): void;
  /** A subscription that clients use got a notification; `frame` is the parsed frame. */
  noticed?(key: string, frame: unknown): void;
}

/** What a {@link Hub} works with. */
export interface HubOptions {
  /** Notifications kept for clients that are behind, all feeds together. */
  capacity: number;
  upstream: UpstreamPort;
  random: RandomSource;
  /** How long a client waits for a subscription while the node is away or silent. */
  subscribeTimeoutMs: number;
  /** What becomes of a client that missed something: it goes on, or is closed with 1013. */
  slowClients: "lag" | "close";
  events: HubEvents;
}

/** A node that refuses this often what it had granted before a reconnect is believed. */
const REFUSALS_MAX = 5;

/** Close code "try again later". */
const TRY_AGAIN_LATER = 1013;

const UNREACHABLE: SubscribeOutcome = {
  errorText: JSON.stringify({
    code: RpcCode.resourceUnavailable,
    message: "The read node cannot be reached: the subscription was not made in time",
  }),
};

/**
 * Shares one connection to the node among all clients (specification, "Subscription lifecycle in the
 * hub"). It knows no socket and no clock: it is told what happened and at what time, and calls `send`.
 */
export class Hub {
  readonly #options: HubOptions;
  readonly #book: FeedBook;
  readonly #ring: BroadcastRing<Notice>;
  readonly #clients = new Set<HubClient>();
  /** Clients that a notification has just put behind: they are drained by the next flush. */
  #fresh: HubClient[] = [];
  /** Position in the ring of the first message that the next flush brings. */
  #freshFrom = 0;
  /** Clients whose connection did not take all that was due. */
  readonly #stuck = new Set<HubClient>();
  #subscriptions = 0;

  constructor(options: HubOptions) {
    this.#options = options;
    this.#ring = new BroadcastRing(options.capacity);
    const { upstream, random, subscribeTimeoutMs } = options;
    this.#book = new FeedBook({ upstream, random, askTimeoutMs: subscribeTimeoutMs });
  }

  /** The node's side: its feeds and their ids. */
  get book(): FeedBook {
    return this.#book;
  }

  /** Clients that are behind: for the owner to know whether to call {@link resume}. */
  get stuck(): ReadonlySet<HubClient> {
    return this.#stuck;
  }

  /** Adds a client. */
  connect(sink: ClientSink): HubClient {
    const client = new HubClient(sink);
    this.#clients.add(client);
    return client;
  }

  /** Step 5: removes a client; what nobody else uses is ended at the node. */
  disconnect(client: HubClient): void {
    if (!this.#clients.delete(client)) return;
    this.#stuck.delete(client);
    for (const feed of [...client.feeds()]) this.#leave(client, feed);
    // What only this client waited for is ended by the answer of the node, or by the next sweep.
    for (const feed of client.awaited) feed.waiters.delete(client);
    client.awaited.clear();
  }

  /** Steps 1 and 2: subscribes a client. `answer` is called once, at once or when the node is heard. */
  subscribe(
    client: HubClient,
    request: SubscriptionRequest,
    nowMs: number,
    answer: (outcome: SubscribeOutcome) => void,
  ): void {
    const feed = this.#book.obtain(request, client);
    if (feed.upstreamId !== undefined) {
      answer(this.#join(client, feed));
      return;
    }
    feed.waiters.set(client, { deadlineMs: nowMs + this.#options.subscribeTimeoutMs, answer });
    client.awaited.add(feed);
    this.#book.ask(feed, nowMs);
  }

  /** Step 4: ends a subscription. @returns False where the id is none of the client's. */
  unsubscribe(client: HubClient, id: string): boolean {
    const feed = client.feedOf(id);
    if (feed === undefined) return false;
    this.#leave(client, feed);
    return true;
  }

  /** A connection to the node stands. */
  upstreamOpened(nowMs: number): void {
    this.#book.opened(nowMs);
  }

  /** The connection to the node is gone; clients keep their ids and wait. */
  upstreamClosed(): void {
    this.#book.closed();
  }

  /** Step 3 and answers: takes a frame of the node. @returns False where it is no JSON-RPC. */
  receive(text: string): boolean {
    const frame = parseFrame(text);
    if (frame === undefined) return false;
    if (typeof frame.id === "number") this.#answered(frame.id, text);
    else if (typeof frame.method === "string") this.#notified(frame, text);
    return true;
  }

  /** Sends what the frames received since the last flush brought to clients that are up to date. */
  flush(): void {
    const fresh = this.#fresh;
    this.#fresh = [];
    this.#freshFrom = this.#ring.end;
    for (const client of fresh) this.#drain(client);
  }

  /** Tries again to send to a client that is behind. */
  resume(client: HubClient): void {
    if (client.cursor !== undefined) this.#drain(client);
  }

  /** To be called about once a second: ends waits that took too long, and asks the node again. */
  sweep(nowMs: number): void {
    for (const feed of [...this.#book.feeds()]) {
      for (const [client, waiter] of feed.waiters) {
        if (nowMs >= waiter.deadlineMs) this.#endWait(feed, client, UNREACHABLE);
      }
      this.#book.retire(feed);
    }
    this.#book.sweep(nowMs);
  }

  #answered(requestId: number, text: string): void {
    const answer = this.#book.answered(requestId, text);
    if (answer === undefined) return;
    const { feed, errorText } = answer;
    for (const client of [...feed.waiters.keys()]) {
      this.#endWait(feed, client, errorText === undefined ? undefined : { errorText });
    }
    if (errorText !== undefined && feed.members.size > 0) this.#refused(feed);
    this.#book.retire(feed);
  }

  /** A subscription that clients hold was not granted again. They must not wait for it for ever. */
  #refused(feed: Feed): void {
    feed.refusals += 1;
    if (feed.refusals < REFUSALS_MAX) return; // the next sweep asks again
    for (const client of [...feed.members]) {
      this.#close(client, "A subscription could not be made again at the node");
    }
  }

  /** Ends a client's wait: with the outcome given, or with the subscription. */
  #endWait(feed: Feed, client: HubClient, outcome?: SubscribeOutcome): void {
    const waiter = feed.waiters.get(client);
    feed.waiters.delete(client);
    client.awaited.delete(feed);
    waiter?.answer(outcome ?? this.#join(client, feed));
  }

  #join(client: HubClient, feed: Feed): SubscribeOutcome {
    const id = feed.publicId;
    if (id === undefined) throw new TypeError("A feed that is live has an id");
    feed.members.add(client);
    client.join(feed, id);
    this.#count(1);
    return { id };
  }

  #leave(client: HubClient, feed: Feed): void {
    this.#lagged(client.leave(feed));
    feed.members.delete(client);
    this.#count(-1);
    this.#book.retire(feed);
  }

  #notified(frame: Frame, text: string): void {
    const upstreamId = frame.params?.subscription;
    if (typeof upstreamId !== "string") return;
    this.#options.events.received();
    const feed = this.#book.byUpstreamId(upstreamId);
    if (feed === undefined) {
      this.#book.stray(upstreamId, String(frame.method).replace(/_subscription$/, ""));
      return;
    }
    // A burst longer than the ring must not cost clients that are up to date anything.
    if (this.#ring.end - this.#freshFrom >= this.#options.capacity) this.flush();
    const position = this.#ring.end;
    if (this.#fresh.length === 0) this.#freshFrom = position;
    const message = new OutgoingMessage(underPublicId(feed, upstreamId, text));
    const notice = { feed, index: feed.emitted, message };
    feed.emitted += 1;
    const evicted = this.#ring.push(notice);
    if (evicted !== undefined) evicted.feed.evicted = evicted.index + 1;
    for (const client of feed.members) {
      if (client.cursor !== undefined) continue;
      client.cursor = position;
      this.#fresh.push(client);
    }
    this.#options.events.noticed?.(feed.request.key, frame);
  }

  #drain(client: HubClient): void {
    if (!this.#clients.has(client)) return;
    const behind = client.cursor !== undefined && client.cursor < this.#ring.start;
    const missed = behind ? client.skipMissed() : 0;
    this.#lagged(missed);
    if (missed > 0 && this.#options.slowClients === "close") {
      this.#close(client, `Too slow: ${missed} messages missed`);
      return;
    }
    const sent = client.drain(this.#ring);
    if (sent > 0) this.#options.events.sent(sent);
    if (client.cursor === undefined) this.#stuck.delete(client);
    else this.#stuck.add(client);
  }

  #close(client: HubClient, reason: string): void {
    this.disconnect(client);
    client.sink.close(TRY_AGAIN_LATER, reason);
  }

  #count(change: 1 | -1): void {
    this.#subscriptions += change;
    this.#options.events.subscribed(this.#subscriptions);
  }

  #lagged(count: number): void {
    if (count > 0) this.#options.events.lagged(count);
  }
}

interface Frame {
  id?: unknown;
  method?: unknown;
  params?: { subscription?: unknown; result?: unknown } | null;
}

function parseFrame(text: string): Frame | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined; // told to the caller, who counts and logs it
  }
}

function underPublicId(feed: Feed, upstreamId: string, text: string): string {
  if (feed.publicId === undefined || feed.publicId === upstreamId) return text;
  const params = memberText(text, "params") ?? "";
  const translated = replaceMember(params, "subscription", JSON.stringify(feed.publicId));
  return replaceMember(text, "params", translated);
}
