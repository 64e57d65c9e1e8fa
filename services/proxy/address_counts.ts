import { isWithinFairShare } from "../../lib/fair_share.ts";
import type { CallerAddress } from "../../lib/http/caller_address.ts";

/**
 * The part of every limit that the addresses behind one peer may use together. A trusted
 * `X-Forwarded-For` is only as reliable as the peer that wrote it: a peer that invents addresses
 * leaves a tenth of each limit to all others.
 */
export const SHARE_PER_PEER = 0.9;

/** Seconds until an address may send again; undefined if it may send now. */
export type RateCheck = (address: CallerAddress) => Promise<number | undefined>;

type AddressKeys = Pick<CallerAddress, "key" | "networks" | "peerKey">;

/**
 * Counts something by address, by the networks around it, and by the peer that reported the
 * address. An IPv6 /56 may have twice as many as an address, a /48 four times.
 */
export class AddressCounts {
  readonly #perAddress: number;
  readonly #perPeer: number;
  // Bounded by the counted things: an entry is deleted when its count reaches 0.
  readonly #counts = new Map<string, Count>();
  readonly #networkCounts = new Map<string, Count>();
  readonly #peerCounts = new Map<string, Count>();

  constructor(perAddress: number, perPeer: number) {
    this.#perAddress = perAddress;
    this.#perPeer = perPeer;
  }

  get addresses(): number {
    return this.#counts.size;
  }

  /** Counts one more. @returns False if the address, a network or its peer is at its limit. */
  tryAdd(address: AddressKeys): boolean {
    if (!this.canAdd(address)) return false;
    this.add(address);
    return true;
  }

  /** Whether one more stays within the limits and a fair share of what its peer has left. */
  canAdd(address: AddressKeys): boolean {
    if (this.isAtOwnLimit(address)) return false;
    const { key, peerKey } = address;
    return key === peerKey || isWithinFairShare(numberOf(this.#counts, key), this.#freeOf(peerKey));
  }

  isAtOwnLimit({ key, networks }: AddressKeys): boolean {
    if (numberOf(this.#counts, key) >= this.#perAddress) return true;
    return networks.some((network, index) =>
      numberOf(this.#networkCounts, network) >= this.#perAddress * 2 ** (index + 1)
    );
  }

  /** Whether the addresses behind one peer have reached their common limit. */
  isPeerFull({ key, peerKey }: AddressKeys): boolean {
    return key !== peerKey && this.#freeOf(peerKey) <= 0;
  }

  /** The highest of an address's count, half that of its /56 and a quarter of that of its /48. */
  load({ key, networks }: AddressKeys, additional = 0): number {
    let load = numberOf(this.#counts, key) + additional;
    for (const [index, network] of networks.entries()) {
      const number = numberOf(this.#networkCounts, network) + additional;
      load = Math.max(load, number / 2 ** (index + 1));
    }
    return load;
  }

  add({ key, networks, peerKey }: AddressKeys): void {
    add(this.#counts, key);
    for (const network of networks) add(this.#networkCounts, network);
    if (key !== peerKey) add(this.#peerCounts, peerKey);
  }

  remove({ key, networks, peerKey }: AddressKeys): void {
    remove(this.#counts, key);
    for (const network of networks) remove(this.#networkCounts, network);
    if (key !== peerKey) remove(this.#peerCounts, peerKey);
  }

  #freeOf(peerKey: string): number {
    return this.#perPeer - numberOf(this.#peerCounts, peerKey);
  }
}

/** An object, so that counting does not modify the map. */
interface Count {
  number: number;
}

function numberOf(counts: ReadonlyMap<string, Count>, key: string): number {
  return counts.get(key)?.number ?? 0;
}

function add(counts: Map<string, Count>, key: string): void {
  const count = counts.get(key);
  if (count === undefined) counts.set(key, { number: 1 });
  else count.number += 1;
}

function remove(counts: Map<string, Count>, key: string): void {
  const count = counts.get(key);
  if (count === undefined) return;
  count.number -= 1;
  if (count.number === 0) counts.delete(key);
}
