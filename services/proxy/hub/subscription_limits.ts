import { NewestMap } from "../../../lib/newest_map.ts";
import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { AddressCounts, PEER_SHARE } from "../address_counts.ts";
import type { CallerAddress } from "../../../lib/http/caller_address.ts";
import type { SubscribeOutcome, UpstreamSubscription } from "./hub_client.ts";

/** The part of all subscriptions at the node that one address may cause. */
const ADDRESS_SHARE = 1 / 8;

/**
 * Most equal subscriptions at the node: a client that subscribes twice needs a second id. Each adds a
 * message to every event: 16 of them once made the node close the socket on a burst.
 */
const COPIES_MAX = 2;

/** How long a request that made the node close the socket is refused, in milliseconds. */
const CLOSED_ON_MS = 600_000;

/** Most such requests that are cached; the oldest is evicted first. */
const CLOSED_ON_MAX = 256;

/** The reason to refuse a new subscription at the node. */
export type SubscriptionRefusal =
  | "upstream_subscriptions"
  | "upstream_subscriptions_per_address"
  | "closed_the_socket";

/** The answers to refused subscriptions. */
export const REFUSED: Record<SubscriptionRefusal, SubscribeOutcome> = {
  upstream_subscriptions: failure(
    RpcCode.limitExceeded,
    "Too many different subscriptions: ask again later",
  ),
  upstream_subscriptions_per_address: failure(
    RpcCode.limitExceeded,
    "Too many different subscriptions from this address: end one first",
  ),
  closed_the_socket: failure(
    RpcCode.limitExceeded,
    "The read node closed its connection on this subscription: ask for less",
  ),
};

/** The answer to a subscribe that the node did not answer in time. */
export const UNREACHABLE = failure(
  RpcCode.resourceUnavailable,
  "The read node cannot be reached: the subscription was not made in time; try again",
);

function failure(code: number, message: string): SubscribeOutcome {
  return { errorText: JSON.stringify({ code, message }) };
}

/** Decides which subscriptions may be requested from the node. */
export class SubscriptionLimits {
  /** Time of the last event, Unix milliseconds: the owner sets it. */
  nowMs = 0;
  readonly #max: number;
  readonly #counts: AddressCounts;
  #count = 0;
  /** Requests that made the node close the socket, and until when they are refused. */
  readonly #closedOn = new NewestMap<string, number>(CLOSED_ON_MAX);

  /** @param max Most subscriptions at the node. */
  constructor(max: number) {
    this.#max = max;
    const share = (part: number) => Math.max(1, Math.floor(max * part));
    this.#counts = new AddressCounts(share(ADDRESS_SHARE), share(PEER_SHARE));
  }

  /** Subscriptions at the node, requested ones included. */
  get count(): number {
    return this.#count;
  }

  /** The reason to refuse a new subscription; undefined if it is allowed. */
  refusal(key: string, copies: number, address: CallerAddress): SubscriptionRefusal | undefined {
    if ((this.#closedOn.get(key) ?? -Infinity) > this.nowMs) return "closed_the_socket";
    if (this.#count >= this.#max) return "upstream_subscriptions";
    if (copies >= COPIES_MAX || !this.#counts.hasRoom(address)) {
      return "upstream_subscriptions_per_address";
    }
  }

  /** Counts a new subscription. */
  add(address: CallerAddress): void {
    this.#count += 1;
    this.#counts.add(address);
  }

  /** Stops counting a subscription. */
  remove(address: CallerAddress): void {
    this.#count -= 1;
    this.#counts.remove(address);
  }

  /** Counts a subscription for a client that uses it, if its present payer no longer does. */
  handOver(subscription: UpstreamSubscription): void {
    if (subscription.involves(subscription.payer)) return;
    const [user] = [...subscription.members, ...subscription.waiters.keys()];
    if (user === undefined) return;
    this.#counts.remove(subscription.payer.address);
    // This can put the new payer over its limit; it then gets no further ones.
    this.#counts.add(user.address);
    subscription.payer = user;
  }

  /** Refuses a request from now on: the node closed the socket on it. */
  remember(key: string): void {
    this.#closedOn.set(key, this.nowMs + CLOSED_ON_MS);
  }
}
