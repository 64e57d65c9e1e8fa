import type { Clock } from "../../../lib/clock.ts";
import { type ByteBudget, SMALL_BYTES } from "../byte_budget.ts";

/** A connection, as far as its unsent bytes matter. */
export interface BufferedConnection {
  /** Unsent bytes now: asking may take a system call. */
  readonly unsentBytes: number;
  /** Whether {@link cut} frees its memory at once. */
  readonly isCuttable: boolean;
  /** Ends the connection without the client's consent. */
  cut(): void;
}

/** The part of the budget that large answers to one address may take. */
const ADDRESS_SHARE = 0.5;

/** The part of the budget that notifications leave for answers. */
const NOTIFICATION_SHARE = 0.5;

/**
 * Unsent bytes that every client may have whatever others use, so that clients that do not read
 * cannot keep heads and short answers from others: 160 MiB for 10,000 clients.
 */
export const ENSURED_BYTES = 16 * 1024;

/** Unsent bytes of one client, up to which it gets notifications that it would miss otherwise. */
const SPARE_BYTES_MAX = 32 * 1024 * 1024;

/** A client that took nothing for so long, while bytes waited for it, does not read. */
const STALLED_MS = 1_000;

/** Every connection is asked for its unsent bytes at most this often. */
const REFRESH_EVERY_MS = 10;

/** Counts the unsent bytes of one connection; {@link ClientBuffers} makes it. */
export class ClientBuffer {
  readonly connection: BufferedConnection;
  readonly key: string;
  /** What the budget counts for it: never less than it really holds. */
  counted = 0;
  /** Its unsent bytes when it was last asked. */
  unsent = 0;
  /** When its client was last seen to read, or to have nothing to read. */
  readAtMs: number;
  #isOpen = true;
  readonly #all: ClientBuffers;

  constructor(all: ClientBuffers, connection: BufferedConnection, key: string, nowMs: number) {
    this.#all = all;
    this.connection = connection;
    this.key = key;
    this.readAtMs = nowMs;
  }

  /** Counts bytes that are about to be sent. */
  add(bytes: number): void {
    if (!this.#isOpen) return;
    this.counted += bytes;
    this.#all.budget.add(bytes);
  }

  /** Bytes of notifications that may still be queued in all clients together. */
  free(wanted: number): number {
    return this.#all.free(wanted);
  }

  /** Bytes of notifications that may be queued though its queue is full: none if it does not read. */
  spare(): number {
    return this.#all.spare(this);
  }

  /** Whether an answer may be queued; if not, it must not be sent. */
  admit(bytes: number): boolean {
    return this.#all.admit(this, bytes);
  }

  /** Counts a refusal that the connection decided itself. */
  refused(): void {
    this.#all.onRefusal();
  }

  /** The connection is gone. */
  end(): void {
    if (this.#isOpen) this.#all.remove(this);
    this.#isOpen = false;
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
  readonly #buffers = new Set<ClientBuffer>();
  #refreshedAtMs = -Infinity;

  /** @param onRefusal Called when an answer is refused or a connection is cut. */
  constructor(budget: ByteBudget, clock: Clock, onRefusal: () => void) {
    this.budget = budget;
    this.#clock = clock;
    this.onRefusal = onRefusal;
  }

  /** Begins to count a connection; `key` is that of the client's address. */
  open(connection: BufferedConnection, key: string): ClientBuffer {
    const buffer = new ClientBuffer(this, connection, key, this.#clock.now());
    this.#buffers.add(buffer);
    return buffer;
  }

  /** For {@link ClientBuffer}. */
  remove(buffer: ClientBuffer): void {
    this.#buffers.delete(buffer);
    this.budget.remove(buffer.counted);
  }

  /** For {@link ClientBuffer}. */
  free(wanted: number): number {
    const shared = this.budget.max * NOTIFICATION_SHARE;
    if (this.budget.used + wanted > shared) this.#refresh();
    return shared - this.budget.used;
  }

  /** For {@link ClientBuffer}. */
  spare(buffer: ClientBuffer): number {
    const nowMs = this.#clock.now();
    this.#recount(buffer, nowMs);
    if (nowMs - buffer.readAtMs >= STALLED_MS) return 0;
    const own = SPARE_BYTES_MAX - buffer.counted;
    // No queue may be larger than what is free: so even many that grow leave something for the next.
    return Math.min(own, this.free(own) - buffer.counted);
  }

  /** For {@link ClientBuffer}. */
  admit(buffer: ClientBuffer, bytes: number): boolean {
    if (
      bytes > SMALL_BYTES && this.#heldBy(buffer.key) + bytes > this.budget.max * ADDRESS_SHARE
    ) {
      this.#refresh();
      if (this.#heldBy(buffer.key) + bytes > this.budget.max * ADDRESS_SHARE) {
        return this.#refuse();
      }
    }
    const isSmall = buffer.counted + bytes <= SMALL_BYTES;
    if (buffer.counted + bytes <= ENSURED_BYTES) return true;
    if (this.budget.fits(bytes, isSmall)) return true;
    this.#refresh();
    while (!this.budget.fits(bytes, isSmall)) {
      const greediest = this.#greediest();
      if (greediest === undefined || greediest.counted <= buffer.counted + bytes) {
        return this.#refuse();
      }
      greediest.end();
      greediest.connection.cut();
      this.onRefusal();
    }
    return true;
  }

  #refuse(): false {
    this.onRefusal();
    return false;
  }

  #heldBy(key: string): number {
    let bytes = 0;
    for (const buffer of this.#buffers) if (buffer.key === key) bytes += buffer.counted;
    return bytes;
  }

  #greediest(): ClientBuffer | undefined {
    let greediest: ClientBuffer | undefined;
    for (const buffer of this.#buffers) {
      if (!buffer.connection.isCuttable) continue;
      if (buffer.counted > (greediest?.counted ?? 0)) greediest = buffer;
    }
    return greediest;
  }

  /** Takes what was sent meanwhile out of the budget. */
  #refresh(): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#refreshedAtMs < REFRESH_EVERY_MS) return;
    this.#refreshedAtMs = nowMs;
    for (const buffer of this.#buffers) this.#recount(buffer, nowMs);
  }

  #recount(buffer: ClientBuffer, nowMs: number): void {
    const { unsentBytes } = buffer.connection;
    if (unsentBytes < buffer.counted || buffer.unsent === 0) buffer.readAtMs = nowMs;
    this.budget.add(unsentBytes - buffer.counted);
    buffer.counted = buffer.unsent = unsentBytes;
  }
}
