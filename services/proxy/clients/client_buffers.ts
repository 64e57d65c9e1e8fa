import type { Clock } from "../../../lib/clock.ts";
import { type ByteBudget, SMALL_BYTES } from "../byte_budget.ts";
import { type ClientSink, CloseCode } from "../hub/hub_client.ts";
import type { OutgoingMessage } from "../hub/messages.ts";

/**
 * Bytes that may wait in a client's socket before notifications stay in the ring instead: a burst in
 * one turn of the event loop.
 */
export const QUEUED_BYTES_MAX = 256 * 1024;

/** The part of the budget that large answers to one address may use. */
const LARGE_ANSWERS_PER_ADDRESS = 0.5;

/** The part of the budget that notifications leave for answers. */
const NOTIFICATION_SHARE = 0.5;

/**
 * Unsent bytes that every client may have regardless of others, so that clients that do not read
 * cannot keep heads and short answers from others: 160 MiB for 10,000 clients.
 */
export const ENSURED_BYTES = 16 * 1024;

/** Unsent bytes of one client up to which it gets notifications that it would otherwise miss. */
const EXTRA_BYTES_MAX = 32 * 1024 * 1024;

/** A client that read nothing for this long while bytes waited for it counts as not reading. */
const STALLED_MS = 1_000;

/** Minimum time between two reads of a connection's unsent bytes. */
const REFRESH_EVERY_MS = 10;

/**
 * A client's WebSocket, of either port. The counts are members of the connection itself, because each
 * delivery to each client touches them.
 */
export abstract class ClientConnection implements ClientSink {
  /** Upper bound of its unsent bytes. */
  unsentAtMost = 0;
  /** Its unsent bytes at the last read. */
  unsent = 0;
  /** When its client last read something, or had nothing to read. */
  readAtMs = 0;
  key = "";
  /** Undefined before {@link register} and after {@link end}. */
  #buffers: ClientBuffers | undefined;

  /** Called for every message; a binary one is read as UTF-8. */
  onText = (_text: string) => {};
  /** Called once, when the connection has ended. */
  onClosed = () => {};
  /** Called when the client's frame is too large; the connection is being closed. */
  onTooLarge = () => {};
  /** Called when its queue is empty after it was full, if its socket says so. */
  onDrain = () => {};

  /** Unsent bytes now; may make a system call. */
  abstract readonly unsentBytes: number;
  abstract send(messages: readonly OutgoingMessage[], bytes: number): void;
  abstract close(code: number, reason: string): void;
  /** Ends the connection without the client's consent, to free its memory. Not every server can. */
  cut?: () => void;
  protected abstract freeQueueBytes(wanted: number): number;

  /** Counts it with all others, until {@link end}. Call it before anything is sent. */
  register(buffers: ClientBuffers, key: string): void {
    this.#buffers = buffers;
    this.key = key;
    buffers.add(this);
  }

  room(wanted: number): number {
    const own = this.freeQueueBytes(wanted);
    if (own <= 0) return own;
    const ensured = own - (QUEUED_BYTES_MAX - ENSURED_BYTES);
    return Math.min(own, Math.max(ensured, this.sharedRoom(Math.min(wanted, own))));
  }

  /** Bytes of notifications that may still be queued in all clients together. */
  sharedRoom(wanted: number): number {
    return this.#buffers?.sharedRoom(wanted) ?? Infinity;
  }

  /** Bytes of notifications that may be queued in spite of a full queue: none if it does not read. */
  extraRoom(): number {
    return this.#buffers?.extraRoom(this) ?? 0;
  }

  /** Whether an answer may be queued; if not, it must not be sent. */
  admit(bytes: number): boolean {
    return this.#buffers?.admit(this, bytes) ?? true;
  }

  /** Counts bytes that are about to be sent. */
  count(bytes: number): void {
    this.unsentAtMost += bytes;
    this.#buffers?.budget.add(bytes);
  }

  /** Sets the counts to its actual unsent bytes. */
  recount(): void {
    if (this.#buffers === undefined) this.unsentAtMost = this.unsentBytes;
    else this.#buffers.recount(this);
  }

  /** The client keeps sending requests and reads nothing. */
  protected refuseToQueue(): void {
    this.#buffers?.onRefusal();
    this.close(CloseCode.tryAgainLater, "Answers are not read");
  }

  end(): void {
    this.#buffers?.remove(this);
    this.#buffers = undefined;
  }
}

/**
 * Unsent bytes of all clients, bounded together. When they are at the limit, the connection with the
 * most is cut, if it has more than the next answer would add; otherwise that answer is refused.
 */
export class ClientBuffers {
  readonly budget: ByteBudget;
  readonly onRefusal: () => void;
  readonly #clock: Clock;
  readonly #connections = new Set<ClientConnection>();
  #refreshedAtMs = -Infinity;

  /** @param onRefusal Called when an answer is refused or a connection is cut. */
  constructor(budget: ByteBudget, clock: Clock, onRefusal: () => void) {
    this.budget = budget;
    this.#clock = clock;
    this.onRefusal = onRefusal;
  }

  add(connection: ClientConnection): void {
    connection.readAtMs = this.#clock.now();
    this.#connections.add(connection);
  }

  /** Removes a connection, and its unsent bytes from the budget. */
  remove(connection: ClientConnection): void {
    this.#connections.delete(connection);
    this.budget.remove(connection.unsentAtMost);
  }

  /** Replaces the counts of a connection by its unsent bytes now, and notes whether it read some. */
  recount(connection: ClientConnection, nowMs = this.#clock.now()): void {
    const { unsentBytes } = connection;
    if (unsentBytes < connection.unsentAtMost || connection.unsent === 0) {
      connection.readAtMs = nowMs;
    }
    this.budget.add(unsentBytes - connection.unsentAtMost);
    connection.unsentAtMost = connection.unsent = unsentBytes;
  }

  /** Bytes of notifications that all clients together may still queue; below 0 if they have too many. */
  sharedRoom(wanted: number): number {
    const shared = this.budget.max * NOTIFICATION_SHARE;
    if (this.budget.used + wanted > shared) this.#refresh();
    return shared - this.budget.used;
  }

  /** Bytes of notifications that one client may queue beyond its own queue: 0 or less if it stalls. */
  extraRoom(connection: ClientConnection): number {
    const nowMs = this.#clock.now();
    this.recount(connection, nowMs);
    if (nowMs - connection.readAtMs >= STALLED_MS) return 0;
    const own = EXTRA_BYTES_MAX - connection.unsentAtMost;
    // No queue may be larger than the free part, so even many growing queues leave some for the next.
    return Math.min(own, this.sharedRoom(own) - connection.unsentAtMost);
  }

  /** Whether a connection may queue an answer; others may be cut for it. */
  admit(connection: ClientConnection, bytes: number): boolean {
    const isAdmitted = this.#addressHasRoom(connection.key, bytes) &&
      this.#makeRoom(connection, bytes);
    if (!isAdmitted) this.onRefusal();
    return isAdmitted;
  }

  /** Whether an answer leaves an address within its share; short answers always do. */
  #addressHasRoom(key: string, bytes: number): boolean {
    if (bytes <= SMALL_BYTES) return true;
    const hasRoom = () =>
      this.#unsentOf(key) + bytes <= this.budget.max * LARGE_ANSWERS_PER_ADDRESS;
    if (hasRoom()) return true;
    this.#refresh();
    return hasRoom();
  }

  /** Makes an answer fit by cutting others, the largest first, while they have more unsent than this. */
  #makeRoom(connection: ClientConnection, bytes: number): boolean {
    if (connection.unsentAtMost + bytes <= ENSURED_BYTES) return true;
    const fits = () =>
      connection.unsentAtMost + bytes <= SMALL_BYTES
        ? this.budget.fits(bytes)
        : this.budget.fitsLarge(bytes);
    if (fits()) return true;
    this.#refresh();
    while (!fits()) {
      const largest = this.#largest();
      if (largest === undefined) return false;
      if (largest.unsentAtMost <= connection.unsentAtMost + bytes) return false;
      largest.end();
      largest.cut?.();
      this.onRefusal();
    }
    return true;
  }

  #unsentOf(key: string): number {
    let bytes = 0;
    for (const connection of this.#connections) {
      if (connection.key === key) bytes += connection.unsentAtMost;
    }
    return bytes;
  }

  #largest(): ClientConnection | undefined {
    let largest: ClientConnection | undefined;
    for (const connection of this.#connections) {
      if (connection.cut === undefined) continue;
      if (connection.unsentAtMost > (largest?.unsentAtMost ?? 0)) largest = connection;
    }
    return largest;
  }

  /** Removes bytes that were sent meanwhile from the budget. */
  #refresh(): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#refreshedAtMs < REFRESH_EVERY_MS) return;
    this.#refreshedAtMs = nowMs;
    for (const connection of this.#connections) this.recount(connection, nowMs);
  }
}
