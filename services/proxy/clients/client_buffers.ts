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
const ADDRESS_SHARE = 0.5;

/** The part of the budget that notifications leave for answers. */
const NOTIFICATION_SHARE = 0.5;

/**
 * Unsent bytes that every client may have regardless of others, so that clients that do not read
 * cannot keep heads and short answers from others: 160 MiB for 10,000 clients.
 */
export const ENSURED_BYTES = 16 * 1024;

/** Unsent bytes of one client up to which it gets notifications that it would otherwise miss. */
const SPARE_BYTES_MAX = 32 * 1024 * 1024;

/** A client that read nothing for this long while bytes waited for it counts as not reading. */
const STALLED_MS = 1_000;

/** Minimum time between two reads of a connection's unsent bytes. */
const REFRESH_EVERY_MS = 10;

/**
 * A client's WebSocket, of either port. The counts are members of the connection itself, because each
 * delivery to each client touches them.
 */
export abstract class ClientConnection implements ClientSink {
  /** Most bytes that it may have unsent. */
  counted = 0;
  /** Its unsent bytes at the last read. */
  unsent = 0;
  /** When its client last read something, or had nothing to read. */
  readAtMs = 0;
  /** That of its client's address. */
  key = "";
  /** Undefined before {@link register} and after {@link end}. */
  #all: ClientBuffers | undefined;

  /** Called for every message; a binary one is read as UTF-8. */
  onText = (_text: string) => {};
  /** Called once, when the connection has ended. */
  onGone = () => {};
  /** Called when the client's frame is too large; the connection is being closed. */
  onTooLarge = () => {};
  /** Called when its queue is empty after it was full, if its socket says so. */
  onDrain = () => {};

  /** Unsent bytes now; may make a system call. */
  abstract readonly unsentBytes: number;
  /** Whether {@link cut} frees its memory at once. */
  abstract readonly isCuttable: boolean;
  abstract send(messages: readonly OutgoingMessage[], bytes: number): void;
  abstract close(code: number, reason: string): void;
  /** Ends the connection without the client's consent. */
  abstract cut(): void;
  /** Bytes of its own queue that are free. */
  protected abstract freeQueueBytes(wanted: number): number;

  /** Counts it with all others, until {@link end}. Call it before anything is sent. */
  register(all: ClientBuffers, key: string): void {
    this.#all = all;
    this.key = key;
    all.add(this);
  }

  room(wanted: number): number {
    const own = this.freeQueueBytes(wanted);
    if (own <= 0) return own;
    const ensured = own - (QUEUED_BYTES_MAX - ENSURED_BYTES);
    return Math.min(own, Math.max(ensured, this.free(Math.min(wanted, own))));
  }

  /** Bytes of notifications that may still be queued in all clients together. */
  free(wanted: number): number {
    return this.#all?.free(wanted) ?? Infinity;
  }

  /** Bytes of notifications that may be queued in spite of a full queue: none if it does not read. */
  spareRoom(): number {
    return this.#all?.spare(this) ?? 0;
  }

  /** Whether an answer may be queued; if not, it must not be sent. */
  admit(bytes: number): boolean {
    return this.#all?.admit(this, bytes) ?? true;
  }

  /** Counts bytes that are about to be sent. */
  count(bytes: number): void {
    this.counted += bytes;
    this.#all?.budget.add(bytes);
  }

  /** Updates the counts to its actual unsent bytes. */
  recount(): void {
    if (this.#all === undefined) this.counted = this.unsentBytes;
    else this.#all.recount(this);
  }

  /** The client keeps sending requests and reads nothing. */
  protected refuseToQueue(): void {
    this.#all?.onRefusal();
    this.close(CloseCode.tryAgainLater, "Answers are not read");
  }

  /** The connection is gone. */
  end(): void {
    this.#all?.remove(this);
    this.#all = undefined;
  }
}

/**
 * Unsent bytes of all clients, bounded together. When they are at the limit, the connection with the
 * most is cut, if it has more than the next answer would add; otherwise that answer is refused.
 */
export class ClientBuffers {
  readonly budget: ByteBudget;
  /** Called when an answer is refused or a connection is cut. */
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

  /** For {@link ClientConnection}. */
  add(connection: ClientConnection): void {
    connection.readAtMs = this.#clock.now();
    this.#connections.add(connection);
  }

  /** For {@link ClientConnection}. */
  remove(connection: ClientConnection): void {
    this.#connections.delete(connection);
    this.budget.remove(connection.counted);
  }

  /** For {@link ClientConnection}. */
  recount(connection: ClientConnection, nowMs = this.#clock.now()): void {
    const { unsentBytes } = connection;
    if (unsentBytes < connection.counted || connection.unsent === 0) connection.readAtMs = nowMs;
    this.budget.add(unsentBytes - connection.counted);
    connection.counted = connection.unsent = unsentBytes;
  }

  /** For {@link ClientConnection}. */
  free(wanted: number): number {
    const shared = this.budget.max * NOTIFICATION_SHARE;
    if (this.budget.used + wanted > shared) this.#refresh();
    return shared - this.budget.used;
  }

  /** For {@link ClientConnection}. */
  spare(connection: ClientConnection): number {
    const nowMs = this.#clock.now();
    this.recount(connection, nowMs);
    if (nowMs - connection.readAtMs >= STALLED_MS) return 0;
    const own = SPARE_BYTES_MAX - connection.counted;
    // No queue may be larger than the free part, so even many growing queues leave some for the next.
    return Math.min(own, this.free(own) - connection.counted);
  }

  /** For {@link ClientConnection}. */
  admit(connection: ClientConnection, bytes: number): boolean {
    if (
      bytes > SMALL_BYTES &&
      this.#unsentOf(connection.key) + bytes > this.budget.max * ADDRESS_SHARE
    ) {
      this.#refresh();
      if (this.#unsentOf(connection.key) + bytes > this.budget.max * ADDRESS_SHARE) {
        return this.#refuse();
      }
    }
    const fits = () =>
      connection.counted + bytes <= SMALL_BYTES
        ? this.budget.fits(bytes)
        : this.budget.fitsLarge(bytes);
    if (connection.counted + bytes <= ENSURED_BYTES) return true;
    if (fits()) return true;
    this.#refresh();
    while (!fits()) {
      const largest = this.#largest();
      if (largest === undefined || largest.counted <= connection.counted + bytes) {
        return this.#refuse();
      }
      largest.end();
      largest.cut();
      this.onRefusal();
    }
    return true;
  }

  #refuse(): false {
    this.onRefusal();
    return false;
  }

  #unsentOf(key: string): number {
    let bytes = 0;
    for (const connection of this.#connections) {
      if (connection.key === key) bytes += connection.counted;
    }
    return bytes;
  }

  #largest(): ClientConnection | undefined {
    let largest: ClientConnection | undefined;
    for (const connection of this.#connections) {
      if (!connection.isCuttable) continue;
      if (connection.counted > (largest?.counted ?? 0)) largest = connection;
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
