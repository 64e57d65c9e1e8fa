import type { RandomSource } from "../../../lib/clock.ts";
import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { BroadcastRing } from "./broadcast_ring.ts";
import type { Feed, Notice, SubscribeOutcome } from "./upstream_subscription.ts";
import { SubscriptionTable, type UpstreamPort } from "./subscription_table.ts";
import { type ClientSink, CloseCode, HubClient } from "./hub_client.ts";
import { type NodeFrame, parseNodeFrame, underPublicId } from "./node_frame.ts";
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
  readonly #book: SubscriptionTable;
  readonly #ring: BroadcastRing<Notice>;
  readonly #clients = new Set<HubClient>();
  /** Feeds that were notified since the last flush. */
  #fresh: Feed[] = [];
  /** Position in the ring of the first message that the next flush brings. */
  #freshFrom = 0;
  /** Clients whose connection did not take all that was due. */
  readonly #stuck = new Set<HubClient>();
  #subscriptions = 0;

  constructor(options: HubOptions) {
    this.#options = options;
    this.#ring = new BroadcastRing(options.capacity);
    const { upstream, random, subscribeTimeoutMs } = options;
    this.#book = new SubscriptionTable({ upstream, random, askTimeoutMs: subscribeTimeoutMs });
  }

  /** The node's side: its feeds and their ids. */
  get book(): SubscriptionTable {
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
    client.cursor = undefined;
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
    // Closed by the hub, and its socket still brings what was on its way.
    if (!this.#clients.has(client)) return answer(UNREACHABLE);
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
    const frame = parseNodeFrame(text);
    if (frame === undefined) return false;
    if (typeof frame.id === "number") this.#answered(frame.id, text);
    else if (typeof frame.method === "string") this.#notified(frame, text);
    return true;
  }

  /**
   * Sends what came since the last flush to clients that are up to date. This is the hot path: one
   * that reads a single feed is given the feed's own list, and costs hardly more than its send.
   */
  flush(): void {
    const feeds = this.#fresh;
    if (feeds.length === 0) return;
    const ringReaders = new Set<HubClient>();
    let sent = 0;
    for (const feed of feeds) {
      for (const client of feed.members) {
        if (client.cursor !== undefined) continue; // behind already, and resumed in its own time
        const inOrder = feeds.length === 1 || client.subscriptions === 1;
        if (inOrder && client.deliver(feed)) sent += feed.fresh.length;
        else ringReaders.add(client);
      }
    }
    for (const client of ringReaders) client.fallBehind(this.#freshFrom);
    for (const feed of feeds) feed.fresh = [];
    this.#fresh = [];
    this.#freshFrom = this.#ring.end;
    for (const client of ringReaders) sent += this.#drain(client);
    this.#sent(sent);
  }

  /** Tries again to send to a client that is behind. */
  resume(client: HubClient): void {
    if (client.cursor === undefined) return;
    this.flush(); // reading on to the end of the ring must not bring what a flush brings again
    this.#sent(this.#drain(client));
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
    if (feed.fresh.length > 0) this.flush(); // what came before is not for the newcomer
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

  #notified(frame: NodeFrame, text: string): void {
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
    if (this.#fresh.length === 0) this.#freshFrom = this.#ring.end;
    if (feed.fresh.length === 0) this.#fresh.push(feed);
    const message = new OutgoingMessage(underPublicId(text, upstreamId, feed.publicId));
    const evicted = this.#ring.push({ feed, index: feed.emitted, message });
    if (evicted !== undefined) evicted.feed.evicted = evicted.index + 1;
    feed.emitted += 1;
    feed.fresh.push(message);
    this.#options.events.noticed?.(feed.request.key, frame);
  }

  /** Sends a client what it has to read from the ring. @returns How many messages that were. */
  #drain(client: HubClient): number {
    if (client.cursor === undefined) return 0;
    const missed = client.cursor < this.#ring.start ? client.skipMissed() : 0;
    this.#lagged(missed);
    if (missed > 0 && this.#options.slowClients === "close") {
      this.#close(client, `Too slow: ${missed} messages missed`);
      return 0;
    }
    const sent = client.drain(this.#ring);
    if (client.cursor === undefined) this.#stuck.delete(client);
    else this.#stuck.add(client);
    return sent;
  }

  #close(client: HubClient, reason: string): void {
    this.disconnect(client);
    client.sink.close(CloseCode.tryAgainLater, reason);
  }

  #count(change: 1 | -1): void {
    this.#subscriptions += change;
    this.#options.events.subscribed(this.#subscriptions);
  }

  #sent(count: number): void {
    if (count > 0) this.#options.events.sent(count);
  }

  #lagged(count: number): void {
    if (count > 0) this.#options.events.lagged(count);
  }
}
