import type { BroadcastRing } from "./broadcast_ring.ts";
import type { Feed, Notice } from "./upstream_subscription.ts";
import type { OutgoingMessage } from "./outgoing_message.ts";

/** Why a client is closed (RFC 6455, section 7.4, and its registry). */
export const CloseCode = { serviceRestart: 1012, tryAgainLater: 1013 } as const;

/** The outgoing side of a client's connection, as the hub sees it. */
export interface ClientSink {
  /**
   * Bytes that the connection takes before it holds as many unsent ones as it may; 0 or less: none.
   * @param wanted Where so many are known to be free, the connection need not be asked again.
   */
  room(wanted: number): number;
  /** Sends messages in their order; at least the first one is always taken. */
  send(messages: readonly OutgoingMessage[]): void;
  /** Ends the connection with a WebSocket close code. */
  close(code: number, reason: string): void;
}

/** A client of the hub: its subscriptions, and how far it has read. */
export class HubClient {
  readonly sink: ClientSink;
  /** For each subscription, the notification due next; kept only while there is a cursor. */
  readonly #due = new Map<Feed, number>();
  readonly #byId = new Map<string, Feed>();
  /** Feeds that the node has not granted yet. */
  readonly awaited = new Set<Feed>();
  /** Position in the ring from which it has to read, or undefined while it is up to date. */
  cursor: number | undefined;
  #holds = 0;

  constructor(sink: ClientSink) {
    this.sink = sink;
  }

  /** Subscriptions, those that wait for the node included. */
  get subscriptions(): number {
    return this.#due.size + this.awaited.size;
  }

  /** The feeds it is subscribed to. */
  feeds(): IterableIterator<Feed> {
    return this.#due.keys();
  }

  /** The feed that the client knows under an id. */
  feedOf(id: string): Feed | undefined {
    return this.#byId.get(id);
  }

  /** Adds a subscription; the next notification of the feed is its first. */
  join(feed: Feed, id: string): void {
    this.#due.set(feed, feed.emitted);
    this.#byId.set(id, feed);
  }

  /** Removes a subscription. @returns How many of its notifications the client missed till now. */
  leave(feed: Feed): number {
    const missed = this.cursor === undefined ? 0 : this.#missedOf(feed);
    this.#due.delete(feed);
    if (feed.publicId !== undefined) this.#byId.delete(feed.publicId);
    return missed;
  }

  /** Delivers nothing until {@link release}: an answer that has to come first is on its way. */
  hold(): void {
    this.#holds += 1;
  }

  /** Ends one {@link hold}. */
  release(): void {
    this.#holds -= 1;
  }

  /**
   * Sends a client that is up to date what a feed was notified of since the last flush.
   * @returns False, and nothing is sent, where the connection does not take all of it now.
   */
  deliver({ fresh }: Feed): boolean {
    if (this.#holds > 0) return false;
    let bytes = 0;
    for (const message of fresh) bytes += message.byteLength;
    if (this.sink.room(bytes) < bytes) return false;
    this.sink.send(fresh);
    return true;
  }

  /** From now on it reads from the ring, beginning with what came since the last flush. */
  fallBehind(position: number): void {
    this.cursor = position;
    for (const feed of this.#due.keys()) this.#due.set(feed, feed.emitted - feed.fresh.length);
  }

  /** Takes note of what gave way in the ring. @returns How many notifications it thereby missed. */
  skipMissed(): number {
    let missed = 0;
    for (const feed of this.#due.keys()) missed += this.#missedOf(feed);
    return missed;
  }

  /** Sends what is due and what the connection takes of it. @returns How many were sent. */
  drain(ring: BroadcastRing<Notice>): number {
    if (this.cursor === undefined || this.#holds > 0) return 0;
    const due: OutgoingMessage[] = [];
    let room = this.sink.room(Infinity);
    let position = Math.max(this.cursor, ring.start);
    for (; position < ring.end && room > 0; position += 1) {
      const message = this.#take(ring.at(position));
      if (message === undefined) continue;
      due.push(message);
      room -= message.byteLength;
    }
    this.cursor = position === ring.end ? undefined : position;
    if (due.length > 0) this.sink.send(due);
    return due.length;
  }

  /** The message of a notification, where it is this client's and due; it is not due again. */
  #take(notice: Notice | undefined): OutgoingMessage | undefined {
    const due = notice && this.#due.get(notice.feed);
    if (notice === undefined || due === undefined || notice.index < due) return undefined;
    this.#due.set(notice.feed, notice.index + 1);
    return notice.message;
  }

  #missedOf(feed: Feed): number {
    const due = this.#due.get(feed) ?? feed.evicted;
    if (due >= feed.evicted) return 0;
    this.#due.set(feed, feed.evicted);
    return feed.evicted - due;
  }
}
