import { AddressCounts, PEER_SHARE } from "../address_counts.ts";
import type { HubClient, HubSubscription } from "./hub_client.ts";

const SLOTS_PER_ADDRESS = 1 / 8;

export type QuotaReached = "upstream_subscriptions" | "upstream_subscriptions_per_address";

/**
 * A limited number of subscriptions, shared by the addresses of those who use them. While there are
 * free slots, an address may have an eighth of all. When there are none, a caller with less than an
 * equal share gets a slot of the address that has most. An address with a single one never loses it.
 */
export class FairShares {
  readonly #max: number;
  readonly #counts: AddressCounts;
  /** The subscriptions that have a slot, the oldest first. */
  readonly #counted = new Set<HubSubscription>();

  constructor(max: number) {
    this.#max = max;
    const part = (share: number) => Math.max(1, Math.floor(max * share));
    this.#counts = new AddressCounts(part(SLOTS_PER_ADDRESS), part(PEER_SHARE));
  }

  get count(): number {
    return this.#counted.size;
  }

  /** A free slot, the subscription that has to give up its slot, or the reason why there is none. */
  slotFor(client: HubClient): "free" | HubSubscription | QuotaReached {
    const { address } = client;
    if (this.#counts.isAtOwnLimit(address)) return "upstream_subscriptions_per_address";
    const isFull = this.count >= this.#max;
    if (!isFull && this.#counts.hasRoom(address)) return "free";
    const isPeersLimit = !isFull || this.#counts.isPeerFull(address);
    return this.#ofHighestLoad(client, isPeersLimit ? address.peerKey : undefined) ??
      (isFull ? "upstream_subscriptions" : "upstream_subscriptions_per_address");
  }

  add(subscription: HubSubscription): void {
    this.#counted.add(subscription);
    this.#counts.add(subscription.quotaOwner.address);
  }

  remove(subscription: HubSubscription): void {
    if (this.#counted.delete(subscription)) this.#counts.remove(subscription.quotaOwner.address);
  }

  /** Counts a subscription for a client that uses it, if its present owner no longer does. */
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
   * The subscription to evict: of the address with the highest load, the one with the fewest clients;
   * among equals, one of the client that has most, the newest first. A caller that would then have as
   * many as the other gets nothing, or callers would keep evicting each other.
   *
   * @param peerKey If given, only addresses behind this peer are considered.
   */
  #ofHighestLoad(client: HubClient, peerKey?: string): HubSubscription | undefined {
    const loadAfter = this.#counts.load(client.address, 1);
    const callers = this.#counts.addresses + (loadAfter === 1 ? 1 : 0);
    // Without this, each refusal would cost a search.
    if (loadAfter > Math.max(1, this.#max / callers)) return undefined;
    let found: HubSubscription | undefined;
    let highest = [loadAfter, Infinity, Infinity];
    for (const subscription of this.#counted) {
      const { quotaOwner, userCount } = subscription;
      if (peerKey !== undefined && quotaOwner.address.peerKey !== peerKey) continue;
      // While the node is asked for it, its slot would be free only after the answer.
      if (subscription.requestId !== undefined || subscription.involves(client)) continue;
      const rank = [
        this.#counts.load(quotaOwner.address),
        -userCount,
        quotaOwner.subscriptionCount,
      ];
      if (isLower(rank, highest)) continue;
      found = subscription;
      highest = rank;
    }
    return found;
  }
}

/** Whether the first difference of two lists makes the first one the lower. */
function isLower(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at !== -1 && (a[at] ?? 0) < (b[at] ?? 0);
}
