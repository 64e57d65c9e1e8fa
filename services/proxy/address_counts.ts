import type { CallerAddress } from "../../lib/http/caller_address.ts";

/**
 * Addresses that a trusted `X-Forwarded-For` names are only as reliable as the peer that wrote it. A
 * peer that invents them is bounded itself: it leaves a tenth of every limit to all others.
 */
export const PEER_SHARE = 0.9;

/** How many of something each address has, and each peer whose header names the addresses. */
export class AddressCounts {
  readonly #perAddress: number;
  readonly #perPeer: number;
  // Bounded by what is counted: an entry goes with its last one.
  readonly #counts = new Map<string, number>();
  readonly #peerCounts = new Map<string, number>();

  constructor(perAddress: number, perPeer: number) {
    this.#perAddress = perAddress;
    this.#perPeer = perPeer;
  }

  /** Counts one more. @returns False if the address or its peer is at its limit. */
  tryAdd(address: CallerAddress): boolean {
    if (!this.hasRoom(address)) return false;
    this.add(address);
    return true;
  }

  /** Whether one more is within the limits. */
  hasRoom({ key, peerKey }: CallerAddress): boolean {
    if ((this.#counts.get(key) ?? 0) >= this.#perAddress) return false;
    return key === peerKey || (this.#peerCounts.get(peerKey) ?? 0) < this.#perPeer;
  }

  /** Counts one more, limit or not. */
  add({ key, peerKey }: CallerAddress): void {
    change(this.#counts, key, 1);
    if (key !== peerKey) change(this.#peerCounts, peerKey, 1);
  }

  /** Counts one less. */
  remove({ key, peerKey }: CallerAddress): void {
    change(this.#counts, key, -1);
    if (key !== peerKey) change(this.#peerCounts, peerKey, -1);
  }
}

function change(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
