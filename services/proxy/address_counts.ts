import type { CallerAddress } from "../../lib/http/caller_address.ts";

/**
 * The addresses in a trusted `X-Forwarded-For` are only as reliable as the peer that wrote it. A peer
 * that invents them is limited itself: it leaves a tenth of every limit to all others.
 */
export const PEER_SHARE = 0.9;

/** Seconds until an address may send again; undefined if it may send now. */
export type OverRate = (address: CallerAddress) => Promise<number | undefined>;

type AddressKeys = Pick<CallerAddress, "key" | "peerKey">;

/** Counts something by address, and by the peer that reported the address. */
export class AddressCounts {
  readonly #perAddress: number;
  readonly #perPeer: number;
  // Bounded by the counted things: an entry is deleted when its count reaches 0.
  readonly #counts = new Map<string, Count>();
  readonly #peerCounts = new Map<string, Count>();

  constructor(perAddress: number, perPeer: number) {
    this.#perAddress = perAddress;
    this.#perPeer = perPeer;
  }

  /** Counts one more. @returns False if the address or its peer is at its limit. */
  tryAdd(address: AddressKeys): boolean {
    if (!this.hasRoom(address)) return false;
    this.add(address);
    return true;
  }

  /**
   * Whether one more is within the limits. Behind a peer, an address may have more only while more is
   * free than it has, so that the first few addresses cannot take what all are to share.
   */
  hasRoom({ key, peerKey }: AddressKeys): boolean {
    const own = this.#counts.get(key)?.number ?? 0;
    if (own >= this.#perAddress) return false;
    return key === peerKey || own < this.#perPeer - (this.#peerCounts.get(peerKey)?.number ?? 0);
  }

  /** Counts one more, limit or not. */
  add({ key, peerKey }: AddressKeys): void {
    add(this.#counts, key, this.#counts.get(key));
    if (key !== peerKey) add(this.#peerCounts, peerKey, this.#peerCounts.get(peerKey));
  }

  /** Counts one less. */
  remove({ key, peerKey }: AddressKeys): void {
    remove(this.#counts, key);
    if (key !== peerKey) remove(this.#peerCounts, peerKey);
  }
}

/** An object, so that a change of the number does not change the map. */
interface Count {
  number: number;
}

function add(counts: Map<string, Count>, key: string, count: Count | undefined): void {
  if (count === undefined) counts.set(key, { number: 1 });
  else count.number += 1;
}

function remove(counts: Map<string, Count>, key: string): void {
  const count = counts.get(key);
  if (count === undefined) return;
  count.number -= 1;
  if (count.number === 0) counts.delete(key);
}
