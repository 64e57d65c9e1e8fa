import type { Clock } from "../../../lib/clock.ts";
import { type ByteBudget, SMALL_BYTES } from "../shared/byte_budget.ts";

/** The part of the budget that all notifications may use, or large answers to one address. */
const SHARE_MAX = 0.5;

/**
 * Unsent bytes that every client may have regardless of others, so that clients that do not read
 * cannot keep heads and short answers from others: 160 MiB for 10,000 clients.
 */
export const GUARANTEED_BYTES = 16 * 1024;

/** Most unsent bytes of one client, if it would otherwise miss notifications. */
const OVERFLOW_BYTES_MAX = 32 * 1024 * 1024;

/** A client that read nothing for this long while bytes waited for it counts as not reading. */
const STALLED_MS = 1_000;

/** Minimum time between two reads of a connection's unsent bytes. */
const REFRESH_EVERY_MS = 10;

/** A connection that counts its unsent bytes. */
interface CountingConnection {
  /** All bytes queued since the last recount count as unsent. */
  readonly unsentUpperBound: number;
  recount(nowMs: number): void;
  /** How long the client has read nothing although bytes waited for it, as of the last recount. */
  unreadForMs(nowMs: number): number;
  unregister(): void;
  /** Ends the connection without a close handshake, to free memory. Undefined if impossible. */
  terminate?: () => void;
}

/**
 * Unsent bytes of all clients, bounded together. If the next answer does not fit, the connection
 * with the most unsent bytes is terminated. If that is the answer's own connection, the answer is
 * refused instead.
 */
export class ClientBuffers {
  readonly budget: ByteBudget;
  readonly onRefusal: () => void;
  readonly #clock: Clock;
  /** By connection, the key of its client's address. */
  readonly #keys = new Map<CountingConnection, string>();
  #refreshedAtMs = -Infinity;

  /**
   * @param clock Measures durations: it must not jump.
   * @param onRefusal Called when an answer is refused or a connection is terminated.
   */
  constructor(budget: ByteBudget, clock: Clock, onRefusal: () => void) {
    this.budget = budget;
    this.#clock = clock;
    this.onRefusal = onRefusal;
  }

  get nowMs(): number {
    return this.#clock.now();
  }

  add(connection: CountingConnection, key: string): void {
    this.#keys.set(connection, key);
    connection.recount(this.nowMs);
  }

  /** Removes a connection, and its unsent bytes from the budget. */
  remove(connection: CountingConnection): void {
    this.#keys.delete(connection);
    this.budget.remove(connection.unsentUpperBound);
  }

  /** Bytes of notifications that all clients together may still queue; may be below 0. */
  sharedWritableBytes(wanted: number): number {
    const shared = this.budget.max * SHARE_MAX;
    if (this.budget.used + wanted > shared) this.#refreshAll();
    return shared - this.budget.used;
  }

  /** Bytes of notifications that a client may queue beyond a full queue; may be below 0. */
  overflowBytes(connection: CountingConnection): number {
    const { nowMs } = this;
    connection.recount(nowMs);
    if (connection.unreadForMs(nowMs) >= STALLED_MS) return 0;
    const own = OVERFLOW_BYTES_MAX - connection.unsentUpperBound;
    // No queue may be larger than the free part, so many growing queues leave some for the next.
    return Math.min(own, this.sharedWritableBytes(own) - connection.unsentUpperBound);
  }

  /** Whether a connection may queue an answer; others may be terminated for it. */
  admitAnswer(connection: CountingConnection, bytes: number): boolean {
    const isAdmitted = this.#fitsAddressShare(connection, bytes) &&
      this.#makeFit(connection, bytes);
    if (!isAdmitted) this.onRefusal();
    return isAdmitted;
  }

  /** Whether an address stays within its share with this answer; short answers always fit. */
  #fitsAddressShare(connection: CountingConnection, bytes: number): boolean {
    if (bytes <= SMALL_BYTES) return true;
    const key = this.#keys.get(connection);
    const fits = () => this.#unsentOf(key) + bytes <= this.budget.max * SHARE_MAX;
    if (fits()) return true;
    this.#refreshAll();
    return fits();
  }

  /**
   * Terminates other connections, the largest first, until an answer fits. Connections with fewer
   * unsent bytes than this one would then have are spared.
   *
   * @returns Whether the answer fits.
   */
  #makeFit(connection: CountingConnection, bytes: number): boolean {
    if (connection.unsentUpperBound + bytes <= GUARANTEED_BYTES) return true;
    const fits = () =>
      connection.unsentUpperBound + bytes <= SMALL_BYTES
        ? this.budget.fits(bytes)
        : this.budget.fitsLarge(bytes);
    if (fits()) return true;
    this.#refreshAll();
    while (!fits()) {
      const largest = this.#largest();
      if (largest === undefined) return false;
      if (largest.unsentUpperBound <= connection.unsentUpperBound + bytes) return false;
      largest.unregister();
      largest.terminate?.();
      this.onRefusal();
    }
    return true;
  }

  #unsentOf(key: string | undefined): number {
    let bytes = 0;
    for (const [connection, ownKey] of this.#keys) {
      if (ownKey === key) bytes += connection.unsentUpperBound;
    }
    return bytes;
  }

  #largest(): CountingConnection | undefined {
    let largest: CountingConnection | undefined;
    for (const connection of this.#keys.keys()) {
      if (connection.terminate === undefined) continue;
      if (connection.unsentUpperBound > (largest?.unsentUpperBound ?? 0)) largest = connection;
    }
    return largest;
  }

  /** Frees the budget of bytes that have been sent meanwhile. */
  #refreshAll(): void {
    const { nowMs } = this;
    if (nowMs - this.#refreshedAtMs < REFRESH_EVERY_MS) return;
    this.#refreshedAtMs = nowMs;
    for (const connection of this.#keys.keys()) connection.recount(nowMs);
  }
}
