import type { CallerAddress } from "../../../lib/http/caller_address.ts";
import type { BroadcastRing } from "./broadcast_ring.ts";
import type { OutgoingMessage } from "./notifications.ts";
import type { SubscriptionRequest } from "./subscription_request.ts";

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
  readonly #nextIndex = new Map<HubSubscription, number>();
  /** Subscriptions that the node has not granted yet. */
  readonly pendingSubscriptions = new Set<HubSubscription>();
  /** Ring position from which it reads; undefined while it is up to date. */
  cursor: number | undefined;

  constructor(sink: ClientSink, address: CallerAddress) {
    this.sink = sink;
    this.address = address;
  }

  /** Its subscriptions, pending ones included. */
  get subscriptionCount(): number {
    return this.#nextIndex.size + this.pendingSubscriptions.size;
  }

  subscriptions(): MapIterator<HubSubscription> {
    return this.#nextIndex.keys();
  }

  subscriptionOf(id: string): HubSubscription | undefined {
    return this.subscriptions().find(({ publicId }) => publicId === id);
  }

  /** Adds a subscription, beginning with its next notification. */
  join(subscription: HubSubscription): void {
    this.#nextIndex.set(subscription, subscription.emitted);
  }

  /** Removes a subscription. @returns How many of its notifications the client missed. */
  leave(subscription: HubSubscription): number {
    const missed = this.cursor === undefined ? 0 : this.#missedOf(subscription);
    this.#nextIndex.delete(subscription);
    return missed;
  }

  /**
   * Sends the new notifications of a subscription to a client that is up to date.
   * @returns False, with nothing sent, if the connection cannot take all of them now.
   */
  deliver({ unflushed, unflushedBytes }: HubSubscription): boolean {
    if (this.sink.writableBytes(unflushedBytes) < unflushedBytes) return false;
    this.sink.send(unflushed, unflushedBytes);
    return true;
  }

  /** Makes it read from the ring, beginning with the notifications since the last flush. */
  fallBehind(position: number): void {
    this.cursor = position;
    for (const subscription of this.#nextIndex.keys()) {
      this.#nextIndex.set(subscription, subscription.emitted - subscription.unflushed.length);
    }
  }

  /** Skips overwritten notifications. @returns How many it missed. */
  skipMissed(): number {
    let missed = 0;
    for (const subscription of this.#nextIndex.keys()) missed += this.#missedOf(subscription);
    return missed;
  }

  /** Sends as many due notifications of the ring as fit. @returns How many were sent. */
  sendFrom(ring: BroadcastRing<Notification>, maxBytes: number): number {
    if (this.cursor === undefined) return 0;
    const due: OutgoingMessage[] = [];
    let bytes = 0;
    let position = Math.max(this.cursor, ring.start);
    for (; position < ring.end && bytes < maxBytes; position += 1) {
      const message = this.#nextMessage(ring.at(position));
      if (message === undefined) continue;
      due.push(message);
      bytes += message.byteLength;
    }
    this.cursor = position === ring.end ? undefined : position;
    if (due.length > 0) this.sink.send(due, bytes);
    return due.length;
  }

  /** The message of a notification if it is due to this client; marks it as sent. */
  #nextMessage(notification: Notification | undefined): OutgoingMessage | undefined {
    if (notification === undefined) return undefined;
    const { subscription, index, message } = notification;
    if (index < (this.#nextIndex.get(subscription) ?? Infinity)) return undefined;
    this.#nextIndex.set(subscription, index + 1);
    return message;
  }

  #missedOf(subscription: HubSubscription): number {
    const next = this.#nextIndex.get(subscription) ?? subscription.overwritten;
    if (next >= subscription.overwritten) return 0;
    this.#nextIndex.set(subscription, subscription.overwritten);
    return subscription.overwritten - next;
  }
}

/** Why a subscription was not made, or ended. */
export interface SubscribeError {
  /** JSON text of a JSON-RPC error. */
  errorText: string;
}

export type SubscribeOutcome = { id: string } | SubscribeError;

/** A client that waits for the node's answer. */
interface Waiter {
  /** Time of the hub's owner, in milliseconds, after which the subscribe fails. */
  deadlineMs: number;
  answer: (outcome: SubscribeOutcome) => void;
}

/** Where the notifications of a subscription come from. */
type SubscriptionState =
  /** From the node: what it was told on the present connection. */
  | { kind: "notRequested" }
  | { kind: "requested" }
  | { kind: "granted"; upstreamId: string }
  /** From the hub: those of another subscription that its filter selects. */
  | { kind: "filtered"; source: HubSubscription; filter: string };

/** Refusals in a row after which a subscription is not requested again. */
const REFUSALS_MAX = 5;

/** One subscription, shared by all clients that requested it. */
export class HubSubscription {
  readonly request: SubscriptionRequest;
  state: SubscriptionState;
  /** The subscriptions that are filtered from this one, by their `thesisFilter`. */
  readonly filtered = new ListMap<HubSubscription>();
  /** The id given to clients, kept over reconnects. */
  publicId: string | undefined;
  /** Refusals in a row by a node that had granted the subscription before. */
  refusals = 0;
  /** How many notifications it has had. */
  emitted = 0;
  /** How many of them the ring no longer has: always the first ones. */
  overwritten = 0;
  /** The newest notifications, those since the last flush of the hub. */
  unflushed: OutgoingMessage[] = [];
  unflushedBytes = 0;
  /** The client whose quota this counts against: one that uses it, or the last one that did. */
  quotaOwner: HubClient;
  readonly members = new Set<HubClient>();
  readonly waiters = new Map<HubClient, Waiter>();

  constructor(
    request: SubscriptionRequest,
    quotaOwner: HubClient,
    state: SubscriptionState = { kind: "notRequested" },
  ) {
    this.request = request;
    this.quotaOwner = quotaOwner;
    this.state = state;
  }

  /** Whether the node has refused it too often to be asked again. */
  get isGivenUp(): boolean {
    return this.refusals >= REFUSALS_MAX;
  }

  /** The subscription at the node that brings its notifications. */
  get atNode(): HubSubscription {
    return this.state.kind === "filtered" ? this.state.source : this;
  }

  /** Whether the node sends notifications for it. */
  get isLive(): boolean {
    return this.atNode.state.kind === "granted";
  }

  /** How many clients use it or wait for it. */
  get userCount(): number {
    return this.members.size + this.waiters.size;
  }

  get clients(): HubClient[] {
    return [...this.members, ...this.waiters.keys()];
  }

  /** This subscription, and those that are filtered from it. */
  *withFiltered(): IterableIterator<HubSubscription> {
    yield this;
    yield* this.filtered.all();
  }

  /** Whether a client uses this subscription or waits for it. */
  involves(client: HubClient): boolean {
    return this.members.has(client) || this.waiters.has(client);
  }

  /** Whether nobody uses this subscription or waits for it. */
  get isIdle(): boolean {
    return this.userCount === 0 && this.filtered.isEmpty;
  }
}

/** Values by a key that several of them may share. */
export class ListMap<T> {
  readonly #lists = new Map<string, readonly T[]>();

  get isEmpty(): boolean {
    return this.#lists.size === 0;
  }

  *all(): IterableIterator<T> {
    for (const list of this.#lists.values()) yield* list;
  }

  valuesOf(key: string): readonly T[] {
    return this.#lists.get(key) ?? [];
  }

  add(key: string, value: T): void {
    this.#lists.set(key, [...this.valuesOf(key), value]);
  }

  delete(key: string, value: T): void {
    const others = this.valuesOf(key).filter((other) => other !== value);
    if (others.length === 0) this.#lists.delete(key);
    else this.#lists.set(key, others);
  }
}
