import type { Clock } from "../../../lib/clock.ts";
import { type ByteBudget, SMALL_BYTES } from "../shared/byte_budget.ts";
import { type ClientSink, CloseCode } from "../hub/hub_client.ts";
import type { OutgoingMessage } from "../hub/messages.ts";

/**
 * Bytes that may wait in a client's queue before notifications stay in the ring instead: a burst in
 * one turn of the event loop.
 */
export const QUEUED_BYTES_MAX = 256 * 1024;

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

/**
 * A client's WebSocket, of either port. Its unsent bytes are counted as they are queued, which
 * costs no system call; {@link recount} replaces the count.
 *
 * Which notifications are added to a client's queue, by the bytes that wait in it:
 *
 * ```
 * | all of them   | all, while the queues of all     | only those that the ring is          |
 * |               | clients together are not full    | about to overwrite                   |
 * 0       GUARANTEED_BYTES                 QUEUED_BYTES_MAX                   OVERFLOW_BYTES_MAX
 * '------------------ writableBytes -----------------'----------- overflowBytes -------------'
 * ```
 */
export abstract class ClientConnection implements ClientSink {
  #counted = 0;
  #atLastRecount = 0;
  #readAtMs = 0;
  /** Undefined before {@link register} and after {@link unregister}. */
  #buffers: ClientBuffers | undefined;

  /** Called for every message; a binary one is read as UTF-8. */
  onText = (_text: string) => {};
  /** Called once, when the connection has ended. */
  onClosed = () => {};
  /** Called when the client's frame is too large; the connection is being closed. */
  onTooLarge = () => {};
  /** Called when a full queue has emptied, if the socket reports that. */
  onDrain = () => {};

  /** Unsent bytes now; may make a system call. */
  abstract readonly unsentBytes: number;
  abstract send(messages: readonly OutgoingMessage[], bytes: number): void;
  abstract close(code: number, reason: string): void;
  /** Ends the connection without a close handshake, to free memory. Undefined if impossible. */
  terminate?: () => void;
  /** {@link QUEUED_BYTES_MAX} minus its unsent bytes, or less if that is enough for `wanted`. */
  protected abstract freeQueueBytes(wanted: number): number;

  /** Counts it with all others, until {@link unregister}. Call it before anything is sent. */
  register(buffers: ClientBuffers, key: string): void {
    this.#buffers = buffers;
    buffers.add(this, key);
  }

  writableBytes(wanted: number): number {
    const free = this.freeQueueBytes(wanted);
    if (free <= 0) return free;
    const queued = QUEUED_BYTES_MAX - free;
    const guaranteed = GUARANTEED_BYTES - queued;
    return Math.min(free, Math.max(guaranteed, this.sharedWritableBytes(Math.min(wanted, free))));
  }

  /** Bytes of notifications that may still be queued in all clients together. */
  sharedWritableBytes(wanted: number): number {
    return this.#buffers?.sharedWritableBytes(wanted) ?? Infinity;
  }

  /** Bytes of notifications that may exceed a full queue: none if the client does not read. */
  overflowBytes(): number {
    return this.#buffers?.overflowBytes(this) ?? 0;
  }

  /** Whether an answer may be queued; if not, it must not be sent. */
  admitAnswer(bytes: number): boolean {
    return this.#buffers?.admitAnswer(this, bytes) ?? true;
  }

  /** All bytes queued since the last recount count as unsent. */
  get unsentUpperBound(): number {
    return this.#counted;
  }

  /** Counts bytes that are about to be sent. */
  countQueued(bytes: number): void {
    this.#counted += bytes;
    this.#buffers?.budget.add(bytes);
  }

  /** Replaces the count by the unsent bytes now, also for all clients together. */
  recount(nowMs = this.#buffers?.nowMs ?? 0): void {
    const actual = this.unsentBytes;
    const change = actual - this.#counted;
    // Some was read since, or nothing was there to read.
    if (change < 0 || this.#atLastRecount === 0) this.#readAtMs = nowMs;
    this.#counted = this.#atLastRecount = actual;
    this.#buffers?.budget.add(change);
  }

  /** How long the client has read nothing although bytes waited for it, as of the last recount. */
  unreadForMs(nowMs: number): number {
    return nowMs - this.#readAtMs;
  }

  /** Closes the connection of a client that keeps sending requests and reads no answers. */
  protected refuseToQueue(): void {
    this.#buffers?.onRefusal();
    this.close(CloseCode.tryAgainLater, "Answers are not read");
  }

  /** Removes it from the counts of all. */
  unregister(): void {
    this.#buffers?.remove(this);
    this.#buffers = undefined;
  }
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
  readonly #keys = new Map<ClientConnection, string>();
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

  add(connection: ClientConnection, key: string): void {
    this.#keys.set(connection, key);
    connection.recount();
  }

  /** Removes a connection, and its unsent bytes from the budget. */
  remove(connection: ClientConnection): void {
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
  overflowBytes(connection: ClientConnection): number {
    const { nowMs } = this;
    connection.recount(nowMs);
    if (connection.unreadForMs(nowMs) >= STALLED_MS) return 0;
    const own = OVERFLOW_BYTES_MAX - connection.unsentUpperBound;
    // No queue may be larger than the free part, so many growing queues leave some for the next.
    return Math.min(own, this.sharedWritableBytes(own) - connection.unsentUpperBound);
  }

  /** Whether a connection may queue an answer; others may be terminated for it. */
  admitAnswer(connection: ClientConnection, bytes: number): boolean {
    const isAdmitted = this.#fitsAddressShare(connection, bytes) &&
      this.#makeFit(connection, bytes);
    if (!isAdmitted) this.onRefusal();
    return isAdmitted;
  }

  /** Whether an address stays within its share with this answer; short answers always fit. */
  #fitsAddressShare(connection: ClientConnection, bytes: number): boolean {
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
  #makeFit(connection: ClientConnection, bytes: number): boolean {
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

  #largest(): ClientConnection | undefined {
    let largest: ClientConnection | undefined;
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
