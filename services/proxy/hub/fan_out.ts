import { BroadcastRing } from "./broadcast_ring.ts";
import type { HubClient, HubSubscription, Notification } from "./subscriptions.ts";
import { OutgoingMessage } from "./notifications.ts";

/** How often per lap of the ring clients are found that are about to miss notifications. */
const SEARCHES_PER_RING = 8;

export interface FanOutEvents {
  onSent(count: number): void;
  /** A client that was too slow missed `count` notifications. */
  onLagged(count: number): void;
}

interface FanOutOptions {
  /** Notifications kept for clients that are behind, all subscriptions together. */
  capacity: number;
  /** Whether a client that missed notifications continues. */
  keepsSlowClients: boolean;
  /** A client missed `count` notifications and cannot continue. Called at most once per client. */
  onTooSlow(client: HubClient, count: number): void;
  events: FanOutEvents;
}

/**
 * Delivers notifications to the members of their subscriptions. Clients that are up to date get
 * them at the next {@link flush}. Clients whose connection was full get them later, from a
 * shared ring; what the ring would overwrite is queued for those that read.
 *
 * Positions in the ring count the notifications of all subscriptions:
 *
 * ```
 * overwritten | kept for clients that are behind | for the next flush |
 *          ring.start     client.cursor   #unflushedFrom          ring.end
 * ```
 *
 * Numbers of a subscription count its own notifications:
 *
 * ```
 * overwritten | sent to a client | not sent yet             | for the next flush |
 *          overwritten  the client's next index  emitted - unflushed.length     emitted
 * ```
 */
export class FanOut {
  readonly #options: FanOutOptions;
  readonly #ring: BroadcastRing<Notification>;
  /** Clients whose connection was too full for everything due. */
  readonly #behind = new Set<HubClient>();
  readonly #searchEvery: number;
  /** Ring position of the next search for clients about to miss something. */
  #nextSearchAt = 0;
  /** Subscriptions with new notifications since the last flush. */
  #unflushed: HubSubscription[] = [];
  /** Ring position of the first message of the next flush. */
  #unflushedFrom = 0;

  constructor(options: FanOutOptions) {
    this.#options = options;
    this.#ring = new BroadcastRing(options.capacity);
    this.#searchEvery = Math.max(1, Math.floor(options.capacity / SEARCHES_PER_RING));
  }

  /** Clients that are behind; the one that was tried longest ago comes first. */
  get clientsBehind(): ReadonlySet<HubClient> {
    return this.#behind;
  }

  remove(client: HubClient): void {
    this.#behind.delete(client);
  }

  /** Adds a notification for the members of a subscription. */
  publish(subscription: HubSubscription, text: string): void {
    // Clients that are up to date must not miss messages of a burst longer than the ring.
    if (this.#ring.end - this.#unflushedFrom >= this.#options.capacity) this.flush();
    if (this.#behind.size > 0 && this.#ring.end >= this.#nextSearchAt) {
      this.#sendBeforeOverwritten();
    }
    if (subscription.unflushed.length === 0) this.#unflushed.push(subscription);
    const message = new OutgoingMessage(text);
    const replaced = this.#ring.push({ subscription, index: subscription.emitted, message });
    if (replaced !== undefined) replaced.subscription.overwritten = replaced.index + 1;
    subscription.emitted += 1;
    subscription.unflushed.push(message);
    subscription.unflushedBytes += message.byteLength;
  }

  /**
   * Sends new notifications to clients that are up to date. This is the hot path: a client of a
   * single subscription gets the subscription's own list, which adds little to the send itself.
   */
  flush(): void {
    const subscriptions = this.#unflushed;
    if (subscriptions.length === 0) return;
    const ringReaders = new Set<HubClient>();
    let sent = 0;
    for (const subscription of subscriptions) {
      for (const client of subscription.members) {
        if (client.cursor !== undefined) continue; // already behind: catchUp() serves it
        const inOrder = subscriptions.length === 1 || client.subscriptionCount === 1;
        if (inOrder && client.deliver(subscription)) sent += subscription.unflushed.length;
        else ringReaders.add(client);
      }
    }
    for (const client of ringReaders) client.fallBehind(this.#unflushedFrom);
    for (const subscription of subscriptions) {
      subscription.unflushed = [];
      subscription.unflushedBytes = 0;
    }
    this.#unflushed = [];
    this.#unflushedFrom = this.#ring.end;
    for (const client of ringReaders) sent += this.#sendFromRing(client);
    if (this.#behind.size === 0) this.#ring.clear();
    this.#countSent(sent);
  }

  /** Tries again to send to a client that is behind. */
  catchUp(client: HubClient): void {
    if (client.cursor === undefined) return;
    this.flush(); // or the ring would bring the same messages again
    this.#countSent(this.#sendFromRing(client));
  }

  /**
   * Sends the clients that read the messages that the ring would overwrite before the next call.
   * They are not sent earlier, because the ring stores a message once, and connections store it
   * once each.
   */
  #sendBeforeOverwritten(): void {
    this.flush(); // or the ring would bring the same messages again
    this.#nextSearchAt = this.#ring.end + this.#searchEvery;
    const keptFrom = this.#nextSearchAt - this.#options.capacity;
    let sent = 0;
    for (const client of [...this.#behind]) {
      if (client.cursor === undefined || client.cursor >= keptFrom) continue;
      const bytes = client.sink.overflowBytes();
      if (bytes > 0) sent += this.#sendFromRing(client, bytes);
    }
    this.#countSent(sent);
  }

  /** Sends a client its messages from the ring. @returns How many. */
  #sendFromRing(client: HubClient, maxBytes = client.sink.writableBytes(Infinity)): number {
    if (client.cursor === undefined) return 0;
    const missed = client.cursor < this.#ring.start ? client.skipMissed() : 0;
    if (missed > 0) {
      this.#options.events.onLagged(missed);
      if (!this.#options.keepsSlowClients) {
        this.#options.onTooSlow(client, missed);
        return 0;
      }
    }
    const sent = client.sendFrom(this.#ring, maxBytes);
    this.#behind.delete(client); // and add it as the last one
    if (client.cursor !== undefined) this.#behind.add(client);
    return sent;
  }

  #countSent(count: number): void {
    if (count > 0) this.#options.events.onSent(count);
  }
}
