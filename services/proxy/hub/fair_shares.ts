import { NewestMap } from "../../../lib/newest_map.ts";
import { AddressCounts, PEER_SHARE } from "../address_counts.ts";
import type { HubClient, SharedSubscription } from "./hub_client.ts";

/** The part of all places that one address may have. */
const ADDRESS_SHARE = 1 / 8;

/** A turn: how long a place is safe from callers without any while everybody has only one. */
export const TURN_MS = 600_000;

/** Why a subscription gets no place. */
export type NoPlace = "upstream_subscriptions" | "upstream_subscriptions_per_address";

/**
 * A limited number of subscriptions, shared by the addresses of those who use them. While there are
 * free places, an address may have an eighth of all. When there are none, a caller with less than an
 * equal share gets a place of the address that has most. If everybody has one, they take turns: a
 * caller without any gets the place that was given first, if its turn of {@link TURN_MS} is over. The
 * address that had it waits as long before it may do the same.
 */
export class FairShares {
  readonly #max: number;
  readonly #counts: AddressCounts;
  /** When each subscription got its place, Unix milliseconds; the oldest first. */
  readonly #placedAtMs = new Map<SharedSubscription, number>();

  /** The end of the last turn of addresses that had to leave their place. */
  readonly #turnEndedAtMs: NewestMap<string, number>;

  constructor(max: number) {
    this.#turnEndedAtMs = new NewestMap(max);
    this.#max = max;
    const part = (share: number) => Math.max(1, Math.floor(max * share));
    this.#counts = new AddressCounts(part(ADDRESS_SHARE), part(PEER_SHARE));
  }

  /** Subscriptions that have a place. */
  get count(): number {
    return this.#placedAtMs.size;
  }

  /** A free place, the subscription that has to leave its place, or the reason why there is none. */
  placeFor(client: HubClient, nowMs: number): "free" | SharedSubscription | NoPlace {
    const { address } = client;
    if (this.#counts.isAtOwnLimit(address)) return "upstream_subscriptions_per_address";
    const isFull = this.count >= this.#max;
    if (!isFull && this.#counts.hasRoom(address)) return "free";
    const ofPeerOnly = !isFull || this.#counts.isPeerFull(address);
    return this.#ofHighestLoad(client, ofPeerOnly) ?? this.#nextTurn(client, ofPeerOnly, nowMs) ??
      (isFull ? "upstream_subscriptions" : "upstream_subscriptions_per_address");
  }

  add(subscription: SharedSubscription, nowMs: number): void {
    this.#placedAtMs.set(subscription, nowMs);
    this.#counts.add(subscription.quotaOwner.address);
  }

  remove(subscription: SharedSubscription): void {
    if (this.#placedAtMs.delete(subscription)) this.#counts.remove(subscription.quotaOwner.address);
  }

  /** Counts a subscription for a client that uses it, if its present owner no longer does. */
  handOver(subscription: SharedSubscription): void {
    const isPlaced = this.#placedAtMs.has(subscription);
    if (!isPlaced || subscription.involves(subscription.quotaOwner)) return;
    const [user] = [...subscription.members, ...subscription.waiters.keys()];
    if (user === undefined) return;
    this.#counts.remove(subscription.quotaOwner.address);
    // This can put the new owner over its limit; it then gets no further ones.
    this.#counts.add(user.address);
    subscription.quotaOwner = user;
  }

  /**
   * Of the owners with the highest load, the newest subscription that fewest clients use. Nobody loses
   * one to a caller that would then have as many, or callers would displace each other for ever.
   */
  #ofHighestLoad(client: HubClient, ofPeerOnly: boolean): SharedSubscription | undefined {
    const { address } = client;
    const loadAfter = this.#counts.load(address, 1);
    const callers = this.#counts.addresses + (loadAfter === 1 ? 1 : 0);
    // Without this, each refusal would cost a search.
    if (loadAfter > Math.max(1, this.#max / callers)) return undefined;
    let found: SharedSubscription | undefined;
    let highest = loadAfter;
    for (const subscription of this.#placedAtMs.keys()) {
      if (!canGive(subscription, client, ofPeerOnly)) continue;
      const load = this.#counts.load(subscription.quotaOwner.address);
      const isBest = load > highest ||
        (found !== undefined && load === highest && subscription.users <= found.users);
      if (!isBest) continue;
      found = subscription;
      highest = load;
    }
    return found;
  }

  /** The subscription whose turn was over first, for a client whose address has none. */
  #nextTurn(
    client: HubClient,
    ofPeerOnly: boolean,
    nowMs: number,
  ): SharedSubscription | undefined {
    const { address } = client;
    const endedAtMs = this.#turnEndedAtMs.get(address.key) ?? -Infinity;
    if (this.#counts.load(address, 1) > 1 || endedAtMs + TURN_MS > nowMs) return undefined;
    for (const [subscription, placedAtMs] of this.#placedAtMs) {
      if (placedAtMs + TURN_MS > nowMs) return undefined;
      if (!canGive(subscription, client, ofPeerOnly)) continue;
      this.#turnEndedAtMs.set(subscription.quotaOwner.address.key, nowMs);
      return subscription;
    }
  }
}

function canGive(subscription: SharedSubscription, to: HubClient, ofPeerOnly: boolean): boolean {
  // While the node is asked for it, its place would be free only after the answer.
  if (subscription.askedAs !== undefined || subscription.involves(to)) return false;
  return !ofPeerOnly || subscription.quotaOwner.address.peerKey === to.address.peerKey;
}
