import { AddressCounts, SHARE_PER_PEER } from "../shared/address_counts.ts";
import type { HubClient, HubSubscription } from "./hub_client.ts";

const SLOTS_PER_ADDRESS = 1 / 8;

export type QuotaReached = "upstream_subscriptions" | "upstream_subscriptions_per_address";

/** The slot is free if neither is set. */
interface SlotDecision {
  /** Why there is no slot. */
  refused?: QuotaReached;
  /** The subscription that must end to free a slot. */
  evict?: HubSubscription;
}

/**
 * Divides a limited number of subscription slots among the addresses of clients. While slots are
 * free, an address may have an eighth of all. When none is free, a caller with less than an equal
 * share gets a slot from the address that has most. An address never loses its only slot.
 */
export class FairShares {
  readonly #max: number;
  readonly #counts: AddressCounts;
  /** The subscriptions that have a slot, the oldest first. */
  readonly #counted = new Set<HubSubscription>();

  constructor(max: number) {
    this.#max = max;
    const part = (share: number) => Math.max(1, Math.floor(max * share));
    this.#counts = new AddressCounts(part(SLOTS_PER_ADDRESS), part(SHARE_PER_PEER));
  }

  get count(): number {
    return this.#counted.size;
  }

  /** Decides whether a client may have one more slot, and which subscription has to end for it. */
  slotFor(client: HubClient): SlotDecision {
    const { address } = client;
    if (this.#counts.isAtOwnLimit(address)) {
      return { refused: "upstream_subscriptions_per_address" };
    }
    const isFull = this.count >= this.#max;
    if (!isFull && this.#counts.canAdd(address)) return {};
    const isPeersLimit = !isFull || this.#counts.isPeerFull(address);
    const evict = this.#findEvictable(client, isPeersLimit ? address.peerKey : undefined);
    if (evict !== undefined) return { evict };
    return { refused: isFull ? "upstream_subscriptions" : "upstream_subscriptions_per_address" };
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
    const [user] = subscription.clients;
    if (
      user === undefined || !this.#counted.has(subscription) || subscription.involves(quotaOwner)
    ) {
      return;
    }
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
    const loadAfter = this.#counts.load(client.address, 1);
    const callers = this.#counts.addresses + (loadAfter === 1 ? 1 : 0);
    // Avoids a search at each refusal.
    if (loadAfter > Math.max(1, this.#max / callers)) return undefined;
    let found: HubSubscription | undefined;
    let highest = loadAfter;
    for (const subscription of this.#counted) {
      const { quotaOwner } = subscription;
      if (peerKey !== undefined && quotaOwner.address.peerKey !== peerKey) continue;
      // The slot of a requested subscription is free only after the node's answer.
      if (subscription.requestId !== undefined || subscription.involves(client)) continue;
      const load = this.#counts.load(quotaOwner.address);
      if (load <= loadAfter || load < highest) continue;
      if (load === highest && found !== undefined && isSpared(subscription, found)) continue;
      found = subscription;
      highest = load;
    }
    return found;
  }
}

/** Whether an older subscription `b`, whose owner has the same load, is evicted before `a`. */
function isSpared(a: HubSubscription, b: HubSubscription): boolean {
  const difference = b.userCount - a.userCount ||
    a.quotaOwner.subscriptionCount - b.quotaOwner.subscriptionCount;
  return difference < 0;
}
