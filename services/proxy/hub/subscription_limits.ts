import { NewestMap } from "../../../lib/newest_map.ts";
import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { AddressCounts } from "../shared/limits.ts";
import type { HubClient, HubSubscription, SubscribeError } from "./subscriptions.ts";
import { ALL_THESES, SHARED_FEED_KEYS, type SubscriptionRequest } from "./subscription_request.ts";

/**
 * Most equal subscriptions: a client that subscribes twice needs a second id. Each copy adds a
 * message to every event: 16 copies once made the node close the socket on a burst.
 */
const COPIES_MAX = 2;

/** Filters that the hub applies itself, per slot at the node: they only use the proxy's memory. */
const FILTERS_PER_SLOT = 16;

/** How long a request that made the node close the socket is refused, in milliseconds. */
const REFUSED_FOR_MS = 600_000;

/** The same for a feed that all callers share: it has no parameters that could be the cause. */
const FEED_REFUSED_FOR_MS = 10_000;

/** Most such requests that are cached; the oldest is evicted first. */
const REFUSED_KEYS_MAX = 256;

/** The part of all slots that one address may have. */
const SLOTS_PER_ADDRESS = 1 / 8;

type QuotaReached = "upstream_subscriptions" | "upstream_subscriptions_per_address";

export type SubscriptionRefusal = QuotaReached | "equal_subscriptions" | "socket_closed";

export const REFUSAL_ERRORS: Record<SubscriptionRefusal, SubscribeError> = {
  upstream_subscriptions: subscribeError("Too many different subscriptions: try again later"),
  upstream_subscriptions_per_address: subscribeError(
    "Too many different subscriptions from this address, or behind its load balancer: end one first",
  ),
  equal_subscriptions: subscribeError(
    `A connection may have ${COPIES_MAX} equal subscriptions: use one of them`,
  ),
  socket_closed: subscribeError(
    "The read node closed its connection because of this subscription: request less, or try again later",
  ),
};

/**
 * Close reason of a client whose subscription was evicted: client libraries show close reasons, but
 * not the errors of a subscription.
 */
export const EVICTED_REASON = "Too many subscriptions: connect again with fewer";

/** Close reason after the node refused to renew a subscription that it had granted. */
export const NOT_RENEWED_REASON = "The read node refuses a subscription: connect again";

/** The error of a subscribe that the node did not answer in time. */
export const UNREACHABLE = subscribeError(
  "The read node cannot be reached: the subscription was not made in time; try again",
  RpcCode.resourceUnavailable,
);

function subscribeError(message: string, code: number = RpcCode.limitExceeded): SubscribeError {
  return { errorText: JSON.stringify({ code, message }) };
}

/** Decides which subscriptions are allowed. Feeds without parameters are not counted. */
export class SubscriptionLimits {
  readonly #atNode: SubscriptionSlots;
  readonly #inHub: SubscriptionSlots;
  /** Requests that made the node close the socket, and until when they are refused. */
  readonly #refusedUntilMs = new NewestMap<string, number>(REFUSED_KEYS_MAX);

  /**
   * @param max Most subscriptions at the node, not counting the shared feeds.
   * @param evict Ends a subscription, so that another caller gets its slot.
   */
  constructor(max: number, evict: (subscription: HubSubscription) => void) {
    this.#atNode = new SubscriptionSlots(max, evict);
    this.#inHub = new SubscriptionSlots(max * FILTERS_PER_SLOT, evict);
  }

  /**
   * Makes room for a new subscription; ends another one if none is free.
   *
   * @param copies Equal subscriptions that exist already.
   * @returns The reason to refuse it, if it is refused.
   */
  makeRoom(
    request: SubscriptionRequest,
    client: HubClient,
    { copies, nowMs }: { copies: number; nowMs: number },
  ): SubscriptionRefusal | undefined {
    const { key, thesisFilter } = request;
    const keyAtNode = thesisFilter === undefined ? key : ALL_THESES.key;
    if ((this.#refusedUntilMs.get(keyAtNode) ?? -Infinity) > nowMs) return "socket_closed";
    if (copies >= COPIES_MAX) return "equal_subscriptions";
    return this.slotsOf(request)?.makeRoom(client);
  }

  /** Refuses a request for a time: the node closed the socket on it. */
  refuseLater(key: string, nowMs: number): void {
    const forMs = SHARED_FEED_KEYS.has(key) ? FEED_REFUSED_FOR_MS : REFUSED_FOR_MS;
    this.#refusedUntilMs.set(key, nowMs + forMs);
  }

  /** The slots that a subscription uses; none if it is a feed without parameters. */
  slotsOf({ key, thesisFilter }: SubscriptionRequest): SubscriptionSlots | undefined {
    if (SHARED_FEED_KEYS.has(key)) return undefined;
    return thesisFilter === undefined ? this.#atNode : this.#inHub;
  }
}

/**
 * Divides a limited number of subscription slots among the addresses of clients. While slots are
 * free, an address may have an eighth of all. When none is free, a caller with less than an equal
 * share gets a slot from the address that has most. An address never loses its only slot.
 */
class SubscriptionSlots {
  readonly #max: number;
  readonly #evict: (subscription: HubSubscription) => void;
  readonly #counts: AddressCounts;
  /** The subscriptions that have a slot, the oldest first. */
  readonly #counted = new Set<HubSubscription>();

  constructor(max: number, evict: (subscription: HubSubscription) => void) {
    this.#max = max;
    this.#evict = evict;
    this.#counts = new AddressCounts(Math.max(1, Math.floor(max * SLOTS_PER_ADDRESS)), max);
  }

  /** Frees a slot for a client. @returns The reason to refuse it, if it may have no further one. */
  makeRoom(client: HubClient): QuotaReached | undefined {
    const { address } = client;
    if (this.#counts.isAtOwnLimit(address)) return "upstream_subscriptions_per_address";
    const isFull = this.#counted.size >= this.#max;
    if (!isFull && this.#counts.canAdd(address)) return undefined;
    const isPeersLimit = !isFull || this.#counts.isPeerFull(address);
    const evicted = this.#findEvictable(client, isPeersLimit ? address.peerKey : undefined);
    if (evicted === undefined) {
      return isFull ? "upstream_subscriptions" : "upstream_subscriptions_per_address";
    }
    this.#evict(evicted);
    return undefined;
  }

  add(subscription: HubSubscription): void {
    this.#counted.add(subscription);
    this.#counts.add(subscription.quotaOwner.address);
  }

  remove(subscription: HubSubscription): void {
    if (this.#counted.delete(subscription)) this.#counts.remove(subscription.quotaOwner.address);
  }

  /** Makes a client that uses a subscription its owner, if the present owner no longer uses it. */
  handOver(subscription: HubSubscription): void {
    const { quotaOwner } = subscription;
    if (!this.#counted.has(subscription) || subscription.involves(quotaOwner)) return;
    // Not from `clients`: a copy of thousands for each one that leaves.
    const [user] = subscription.members.size > 0
      ? subscription.members
      : subscription.waiters.keys();
    if (user === undefined) return;
    this.#counts.remove(quotaOwner.address);
    // This can put the new owner over its limit; it then gets no further ones.
    this.#counts.add(user.address);
    subscription.quotaOwner = user;
  }

  /**
   * The subscription to evict. It belongs to the address with the highest load, and has the fewest
   * clients; among equals, its owner has the most subscriptions, and it is the newest. A caller
   * that would then have as many as the other gets none, or callers would keep evicting each other.
   *
   * @param peerKey If given, only addresses behind this peer are considered.
   */
  #findEvictable(client: HubClient, peerKey?: string): HubSubscription | undefined {
    const loadAfter = this.#counts.loadOf(client.address, 1);
    const callers = this.#counts.addresses + (loadAfter === 1 ? 1 : 0);
    // Avoids a search at each refusal.
    if (loadAfter > Math.max(1, this.#max / callers)) return undefined;
    let found: HubSubscription | undefined;
    let highest = loadAfter;
    for (const subscription of this.#counted) {
      const { quotaOwner } = subscription;
      if (peerKey !== undefined && quotaOwner.address.peerKey !== peerKey) continue;
      // The slot of a requested subscription is free only after the node's answer.
      if (subscription.state.kind === "requested" || subscription.involves(client)) continue;
      const load = this.#counts.loadOf(quotaOwner.address);
      if (load <= loadAfter || load < highest) continue;
      if (load === highest && found && precedenceOf(subscription, found) < 0) continue;
      found = subscription;
      highest = load;
    }
    return found;
  }
}

/** Positive if `a` is evicted before `b`; their owners have the same load. */
function precedenceOf(a: HubSubscription, b: HubSubscription): number {
  return b.userCount - a.userCount ||
    a.quotaOwner.subscriptionCount - b.quotaOwner.subscriptionCount;
}
