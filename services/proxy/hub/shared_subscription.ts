import type { OutgoingMessage } from "./messages.ts";
import type { SubscriptionRequest } from "./subscription_request.ts";

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

/**
 * One subscription, shared by all clients that requested it. At the node its state is one of: wanted
 * (neither id is set), asked (`requestId` is set) or live (`upstreamId` is set). The hub filters some
 * subscriptions from another one, their {@link feed}, and these are live while the feed is.
 */
export class SharedSubscription<Client> {
  readonly request: SubscriptionRequest;
  /** The subscription at the node that this one is filtered from; undefined if it is at the node. */
  readonly feed: SharedSubscription<Client> | undefined;
  filtered: SubscriptionsByKey<Client> | undefined;
  /** The id given to clients, kept over reconnects. */
  publicId: string | undefined;
  /** The node's id on the present connection. */
  upstreamId: string | undefined;
  /** Id of the request to the node that is not answered yet. */
  requestId: number | undefined;
  /** Refusals in a row by a node that had granted the subscription before. */
  refusals = 0;
  emitted = 0;
  /** Number of notifications that the ring no longer has: always the first ones. */
  overwritten = 0;
  /** The newest notifications, those since the last flush of the hub. */
  unflushed: OutgoingMessage[] = [];
  unflushedBytes = 0;
  /** The client whose quota this counts against: one that uses it, or the last one that did. */
  quotaOwner: Client;
  readonly members = new Set<Client>();
  readonly waiters = new Map<Client, Waiter>();

  constructor(request: SubscriptionRequest, quotaOwner: Client, feed?: SharedSubscription<Client>) {
    this.request = request;
    this.quotaOwner = quotaOwner;
    this.feed = feed;
  }

  /** Whether the node sends notifications for it. */
  get isLive(): boolean {
    return (this.feed ?? this).upstreamId !== undefined;
  }

  /** How many clients use it or wait for it. */
  get userCount(): number {
    return this.members.size + this.waiters.size;
  }

  get clients(): Client[] {
    return [...this.members, ...this.waiters.keys()];
  }

  /** This subscription, and those that are filtered from it. */
  *selfAndFiltered(): IterableIterator<SharedSubscription<Client>> {
    yield this;
    if (this.filtered !== undefined) yield* this.filtered.all();
  }

  /** Whether a client uses this subscription or waits for it. */
  involves(client: Client): boolean {
    return this.members.has(client) || this.waiters.has(client);
  }

  /** Whether nobody uses this subscription or waits for it. */
  get isIdle(): boolean {
    return this.userCount === 0 && this.filtered?.isEmpty !== false;
  }
}

/** Subscriptions by a key: several if one client requested the same more than once. */
export class SubscriptionsByKey<Client> {
  readonly #lists = new Map<string, readonly SharedSubscription<Client>[]>();

  get isEmpty(): boolean {
    return this.#lists.size === 0;
  }

  *all(): IterableIterator<SharedSubscription<Client>> {
    for (const list of this.#lists.values()) yield* list;
  }

  of(key: string): readonly SharedSubscription<Client>[] {
    return this.#lists.get(key) ?? [];
  }

  add(key: string, subscription: SharedSubscription<Client>): void {
    this.#lists.set(key, [...this.of(key), subscription]);
  }

  delete(key: string, subscription: SharedSubscription<Client>): void {
    const others = this.of(key).filter((other) => other !== subscription);
    if (others.length === 0) this.#lists.delete(key);
    else this.#lists.set(key, others);
  }
}
