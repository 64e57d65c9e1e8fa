/** What callers may use of shared resources: numbers by address, and bytes of all together. */
import { isWithinFairShare } from "../../../lib/fair_share.ts";
import type { CallerAddress } from "../../../lib/http/caller_address.ts";

/**
 * The part of every limit that the addresses behind one peer may use together. A trusted
 * `X-Forwarded-For` is only as reliable as the peer that wrote it: a peer that invents addresses
 * leaves a tenth of each limit to all others.
 */
export const SHARE_PER_PEER = 0.9;

type AddressKeys = Pick<CallerAddress, "key" | "networks" | "peerKey">;

/**
 * Counts something by address, by the networks around it, and by the peer that reported the
 * address. An IPv6 /56 may have twice as many as an address, a /48 four times.
 */
export class AddressCounts {
  readonly #perAddress: number;
  readonly #perPeer: number;
  // Bounded by the counted things: an entry is deleted when its count reaches 0.
  readonly #counts = new Map<string, number>();
  readonly #networkCounts = new Map<string, number>();
  readonly #peerCounts = new Map<string, number>();

  /** @param all The owner's limit for all together; of it, one peer may have {@link SHARE_PER_PEER}. */
  constructor(perAddress: number, all = Infinity) {
    this.#perAddress = perAddress;
    this.#perPeer = Math.max(1, Math.floor(all * SHARE_PER_PEER));
  }

  get addresses(): number {
    return this.#counts.size;
  }

  /** Counts more. @returns False if the address, a network or its peer is at its limit. */
  tryAdd(address: AddressKeys, number = 1): boolean {
    if (!this.canAdd(address, number)) return false;
    this.add(address, number);
    return true;
  }

  /** Whether more stay within the limits and a fair share of what its peer has left. */
  canAdd(address: AddressKeys, number = 1): boolean {
    if (this.isAtOwnLimit(address, number)) return false;
    const { key, peerKey } = address;
    const before = number - 1; // added before the last one, for which the share is checked
    const used = (this.#counts.get(key) ?? 0) + before;
    return key === peerKey || isWithinFairShare(used, this.#freeOf(peerKey) - before);
  }

  isAtOwnLimit(address: AddressKeys, number = 1): boolean {
    return this.loadOf(address, number) > this.#perAddress;
  }

  /** Whether the addresses behind one peer have reached their common limit. */
  isPeerFull({ key, peerKey }: AddressKeys): boolean {
    return key !== peerKey && this.#freeOf(peerKey) <= 0;
  }

  /** The highest of an address's count, half that of its /56 and a quarter of that of its /48. */
  loadOf({ key, networks }: AddressKeys, additional = 0): number {
    let load = (this.#counts.get(key) ?? 0) + additional;
    for (const [index, network] of networks.entries()) {
      const number = (this.#networkCounts.get(network) ?? 0) + additional;
      load = Math.max(load, number / 2 ** (index + 1));
    }
    return load;
  }

  add(address: AddressKeys, number = 1): void {
    this.#change(address, number);
  }

  remove(address: AddressKeys, number = 1): void {
    this.#change(address, -number);
  }

  #change({ key, networks, peerKey }: AddressKeys, by: number): void {
    change(this.#counts, key, by);
    for (const network of networks) change(this.#networkCounts, network, by);
    if (key !== peerKey) change(this.#peerCounts, peerKey, by);
  }

  #freeOf(peerKey: string): number {
    return this.#perPeer - (this.#peerCounts.get(peerKey) ?? 0);
  }
}

function change(counts: Map<string, number>, key: string, by: number): void {
  const number = (counts.get(key) ?? 0) + by;
  if (number > 0) counts.set(key, number);
  else counts.delete(key);
}

/**
 * Answers up to this size may use the whole budget. Larger ones stop at {@link LARGE_SHARE}, so
 * that a few callers of huge answers cannot crowd out plain reads.
 */
export const SMALL_BYTES = 64 * 1024;

/** The part of a budget that answers over {@link SMALL_BYTES} may use together. */
export const LARGE_SHARE = 0.75;

/** Bytes that the whole process may hold for its callers (`--max-buffered-bytes`). */
export class ByteBudget {
  readonly max: number;
  #used = 0;
  #recount: () => void = () => {};

  constructor(max: number) {
    this.max = max;
  }

  /** An upper bound: bytes that were read since they were last recounted are still in it. */
  get used(): number {
    return this.#used;
  }

  /** The bytes in memory, recounted. */
  recount(): number {
    this.#recount();
    return this.#used;
  }

  /** @param recount Frees what was read meanwhile; called where bytes would otherwise not fit. */
  recountWith(recount: () => void): void {
    this.#recount = recount;
  }

  /** Whether this many more bytes of a small answer fit. */
  fits(bytes: number): boolean {
    return this.#fitsWithin(this.max, bytes);
  }

  /** Whether this many more bytes fit next to the part that is reserved for small answers. */
  fitsLarge(bytes: number): boolean {
    return this.#fitsWithin(this.max * LARGE_SHARE, bytes);
  }

  #fitsWithin(limit: number, bytes: number): boolean {
    return this.#used + bytes <= limit || this.recount() + bytes <= limit;
  }

  add(bytes: number): void {
    this.#used += bytes;
  }

  /** Counts bytes as free again. */
  remove(bytes: number): void {
    this.#used -= bytes;
  }
}

/** The part of the memory for large messages that one address may use. */
const LARGE_SHARE_PER_ADDRESS = 0.5;

/**
 * Large messages in memory by caller, a part of the {@link ByteBudget}: those from callers until they
 * are answered, and answers over HTTP until they are read.
 */
export class CallerBytes {
  readonly #budget: ByteBudget;
  readonly #perCaller: AddressCounts;

  constructor(budget: ByteBudget) {
    const max = budget.max * LARGE_SHARE;
    this.#budget = budget;
    this.#perCaller = new AddressCounts(max * LARGE_SHARE_PER_ADDRESS, max);
  }

  /** Whether this many more bytes of a caller fit. */
  fits(address: AddressKeys, bytes: number): boolean {
    return this.#budget.fitsLarge(bytes) && this.#perCaller.canAdd(address, bytes);
  }

  /** Whether an answer fits: one of any length, further ones within the caller's share. */
  fitsAnswer(address: AddressKeys, bytes: number): boolean {
    const isFirst = this.#perCaller.loadOf(address) === 0 && !this.#perCaller.isPeerFull(address);
    return isFirst ? this.#budget.fitsLarge(bytes) : this.fits(address, bytes);
  }

  /** Counts bytes, if they fit. @returns False if they do not. */
  tryAdd(address: AddressKeys, bytes: number): boolean {
    if (!this.fits(address, bytes)) return false;
    this.add(address, bytes);
    return true;
  }

  add(address: AddressKeys, bytes: number): void {
    this.#budget.add(bytes);
    this.#perCaller.add(address, bytes);
  }

  /** Counts bytes as free again. */
  remove(address: AddressKeys, bytes: number): void {
    if (bytes === 0) return;
    this.#budget.remove(bytes);
    this.#perCaller.remove(address, bytes);
  }
}
