import type { CallerAddress } from "../../../lib/http/caller_address.ts";
import type { Limit } from "../metrics.ts";
import type { Head } from "../node/head.ts";
import type { BroadcastRing } from "./broadcast_ring.ts";
import type { OutgoingMessage } from "./messages.ts";
import type { SharedSubscription } from "./shared_subscription.ts";

export type HubSubscription = SharedSubscription<HubClient>;

/** Close codes for clients (RFC 6455, section 7.4, and its registry). */
export const CloseCode = { tooBig: 1009, serviceRestart: 1012, tryAgainLater: 1013 } as const;

/** The outgoing side of a client's connection. */
export interface ClientSink {
  /**
   * Bytes that the connection accepts before its queue is full; 0 or less: none.
   * @param wanted If this much is known to be free, the connection need not check again.
   */
  writableBytes(wanted: number): number;
  /**
   * Bytes that it accepts beyond a full queue, so that the client does not miss them. 0 or less:
   * none, because the client does not read.
   */
  overflowBytes(): number;
  /** Sends messages of together `bytes` in order; at least the first is always accepted. */
  send(messages: readonly OutgoingMessage[], bytes: number): void;
  /** Ends the connection with a WebSocket close code. */
  close(code: number, reason: string): void;
}

/** Events for metrics and the head watch. */
export interface HubEvents {
  received(): void;
  sent(count: number): void;
  /** A client that was too slow missed `count` notifications. */
  lagged(count: number): void;
  subscribed(total: number): void;
  refused(limit: Limit): void;
  /** The node announced a head, possibly in an unknown form. @returns False to keep it from clients. */
  announced(head: Head | undefined): boolean;
}

/** Calls the hub, which has no clock, when something is due. */
export interface Delivery {
  flushSoon(): void;
  resumeSoon(): void;
}

/** A notification, encoded once for all its readers. */
export interface Notification {
  subscription: HubSubscription;
  /** Its number among the notifications of the subscription, from 0. */
  index: number;
  message: OutgoingMessage;
}

/** A client of the hub: its subscriptions, and how far it has read. */
export class HubClient {
  readonly sink: ClientSink;
  readonly address: CallerAddress;
  /** For each subscription, the number of the notification due next; valid only with a cursor. */
  readonly #due = new Map<HubSubscription, number>();
  readonly #byId = new Map<string, HubSubscription>();
  /** Subscriptions that the node has not granted yet. */
  readonly pendingSubscriptions = new Set<HubSubscription>();
  /** Ring position from which it reads; undefined while it is up to date. */
  cursor: number | undefined;
  #pauses = 0;

  constructor(sink: ClientSink, address: CallerAddress) {
    this.sink = sink;
    this.address = address;
  }

  /** Its subscriptions, pending ones included. */
  get subscriptionCount(): number {
    return this.#due.size + this.pendingSubscriptions.size;
  }

  subscriptions(): IterableIterator<HubSubscription> {
    return this.#due.keys();
  }

  subscriptionOf(id: string): HubSubscription | undefined {
    return this.#byId.get(id);
  }

  /** Adds a subscription, beginning with its next notification. */
  join(subscription: HubSubscription, id: string): void {
    this.#due.set(subscription, subscription.emitted);
    this.#byId.set(id, subscription);
  }

  /** Removes a subscription. @returns How many of its notifications the client missed. */
  leave(subscription: HubSubscription): number {
    const missed = this.cursor === undefined ? 0 : this.#missedOf(subscription);
    this.#due.delete(subscription);
    if (subscription.publicId !== undefined) this.#byId.delete(subscription.publicId);
    return missed;
  }

  /** Delivers nothing until {@link resumeDelivery}, so that a pending answer comes first. */
  pauseDelivery(): void {
    this.#pauses += 1;
  }

  resumeDelivery(): void {
    this.#pauses -= 1;
  }

  /**
   * Sends the new notifications of a subscription to a client that is up to date.
   * @returns False, with nothing sent, if the connection cannot take all of them now.
   */
  deliver({ unflushed, unflushedBytes }: HubSubscription): boolean {
    if (this.#pauses > 0 || this.sink.writableBytes(unflushedBytes) < unflushedBytes) return false;
    this.sink.send(unflushed, unflushedBytes);
    return true;
  }

  /** Makes it read from the ring, beginning with the notifications since the last flush. */
  fallBehind(position: number): void {
    this.cursor = position;
    for (const subscription of this.#due.keys()) {
      this.#due.set(subscription, subscription.emitted - subscription.unflushed.length);
    }
  }

  /** Skips overwritten notifications. @returns How many it missed. */
  skipMissed(): number {
    let missed = 0;
    for (const subscription of this.#due.keys()) missed += this.#missedOf(subscription);
    return missed;
  }

  /** Sends as many due notifications as fit. @returns How many were sent. */
  drain(ring: BroadcastRing<Notification>, maxBytes: number): number {
    if (this.cursor === undefined || this.#pauses > 0) return 0;
    const due: OutgoingMessage[] = [];
    let bytes = 0;
    let position = Math.max(this.cursor, ring.start);
    for (; position < ring.end && bytes < maxBytes; position += 1) {
      const message = this.#dueMessage(ring.at(position));
      if (message === undefined) continue;
      due.push(message);
      bytes += message.byteLength;
    }
    this.cursor = position === ring.end ? undefined : position;
    if (due.length > 0) this.sink.send(due, bytes);
    return due.length;
  }

  /** The message of a notification if it is due to this client; marks it as sent. */
  #dueMessage(notice: Notification | undefined): OutgoingMessage | undefined {
    const due = notice && this.#due.get(notice.subscription);
    if (notice === undefined || due === undefined || notice.index < due) return undefined;
    this.#due.set(notice.subscription, notice.index + 1);
    return notice.message;
  }

  #missedOf(subscription: HubSubscription): number {
    const due = this.#due.get(subscription) ?? subscription.overwritten;
    if (due >= subscription.overwritten) return 0;
    this.#due.set(subscription, subscription.overwritten);
    return subscription.overwritten - due;
  }
}
