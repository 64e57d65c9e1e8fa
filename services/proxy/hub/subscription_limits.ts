import { NewestMap } from "../../../lib/newest_map.ts";
import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { FairShares, type QuotaReached } from "./fair_shares.ts";
import type { HubClient, HubSubscription, SubscribeError } from "./hub_client.ts";
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

/** Most such requests that are cached; the oldest is evicted first. */
const REFUSED_KEYS_MAX = 256;

export type SubscriptionRefusal = QuotaReached | "equal_subscriptions" | "socket_closed";

export const REFUSED: Record<SubscriptionRefusal, SubscribeError> = {
  upstream_subscriptions: subscribeError(
    RpcCode.limitExceeded,
    "Too many different subscriptions: try again later",
  ),
  upstream_subscriptions_per_address: subscribeError(
    RpcCode.limitExceeded,
    "Too many different subscriptions from this address: end one first",
  ),
  equal_subscriptions: subscribeError(
    RpcCode.limitExceeded,
    `A connection may have ${COPIES_MAX} equal subscriptions: use one of them`,
  ),
  socket_closed: subscribeError(
    RpcCode.limitExceeded,
    "The read node closed its connection because of this subscription: request less",
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
  RpcCode.resourceUnavailable,
  "The read node cannot be reached: the subscription was not made in time; try again",
);

function subscribeError(code: number, message: string): SubscribeError {
  return { errorText: JSON.stringify({ code, message }) };
}

/** Decides which subscriptions are allowed. Feeds without parameters are not counted. */
export class SubscriptionLimits {
  readonly #evict: (subscription: HubSubscription) => void;
  readonly #atNode: FairShares;
  readonly #inHub: FairShares;
  /** Requests that made the node close the socket, and until when they are refused. */
  readonly #refusedUntilMs = new NewestMap<string, number>(REFUSED_KEYS_MAX);

  /**
   * @param max Most subscriptions at the node, not counting the shared feeds.
   * @param evict Ends a subscription, so that another caller gets its slot.
   */
  constructor(max: number, evict: (subscription: HubSubscription) => void) {
    this.#evict = evict;
    this.#atNode = new FairShares(max);
    this.#inHub = new FairShares(max * FILTERS_PER_SLOT);
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
    const askedKey = thesisFilter === undefined ? key : ALL_THESES.key;
    if ((this.#refusedUntilMs.get(askedKey) ?? -Infinity) > nowMs) return "socket_closed";
    if (copies >= COPIES_MAX) return "equal_subscriptions";
    const decision = this.sharesOf(request)?.slotFor(client);
    if (decision?.evict !== undefined) this.#evict(decision.evict);
    return decision?.refused;
  }

  /** Refuses a request for {@link REFUSED_FOR_MS}: the node closed the socket on it. */
  refuseLater(key: string, nowMs: number): void {
    this.#refusedUntilMs.set(key, nowMs + REFUSED_FOR_MS);
  }

  /** The slots that a subscription uses; none if it is a feed without parameters. */
  sharesOf({ key, thesisFilter }: SubscriptionRequest): FairShares | undefined {
    if (SHARED_FEED_KEYS.has(key)) return undefined;
    return thesisFilter === undefined ? this.#atNode : this.#inHub;
  }
}
