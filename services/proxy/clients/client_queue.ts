import type { Clock } from "../../../lib/clock.ts";
import { CloseCode } from "../../../lib/http/web_socket.ts";
import type { ClientSink } from "../hub/subscriptions.ts";
import type { OutgoingMessage } from "../hub/notifications.ts";
import { type ByteBudget, SMALL_BYTES } from "../shared/limits.ts";

/** The part of the budget that all notifications may use, or the unsent bytes of one address. */
const SHARE_MAX = 0.5;

/**
 * Unsent bytes that every client may have regardless of others, so that clients that do not read
 * cannot keep heads and short answers from others: 160 MiB for 10,000 clients.
 */
export const GUARANTEED_BYTES = 16 * 1024;

/**
 * Bytes that may wait in a client's queue before notifications stay in the ring instead: a burst in
 * one turn of the event loop.
 */
export const QUEUED_BYTES_MAX = 256 * 1024;

/** Most unsent bytes of one client, if it would otherwise miss notifications. */
const OVERFLOW_BYTES_MAX = 32 * 1024 * 1024;

/** Most unsent bytes of one client, answers included; a client over it is closed. */
export const UNSENT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * What an unread answer takes in memory besides its bytes: over 600 bytes on the second port, over 900
 * on the main port. Without it, a million short answers would count as a twentieth of their memory.
 */
export const ANSWER_BYTES = 1_024;

/** A client that read nothing for this long while bytes waited for it counts as not reading. */
const STALLED_MS = 1_000;

/** Minimum time between two readings of the unsent bytes of all connections. */
const REFRESH_EVERY_MS = 10;

/** What a client's WebSocket reports. */
export interface SocketEvents {
  /** A message; a binary one is read as UTF-8. */
  onText(text: string): void;
  /** The bytes of a message that has not come to its end; only some sockets report them. */
  onUnfinished(bytes: number): void;
  /** The client's message is too large; the socket is being closed. */
  onTooLarge(): void;
  /** A full queue has emptied; only some sockets report it. */
  onDrain(): void;
  /** The connection has ended. Called once. */
  onClosed(): void;
}

/** A client's WebSocket. */
export interface ClientSocket {
  readonly isOpen: boolean;
  /** Unsent bytes; may make a system call. */
  readonly bufferedBytes: number;
  /** Whether {@link terminate} ends the connection. */
  readonly canTerminate: boolean;
  /** Reports events from now on. Call it in the turn in which the socket opened. */
  listen(events: SocketEvents): void;
  write(messages: readonly OutgoingMessage[]): void;
  close(code: number, reason: string): void;
  /** Ends the connection without a close handshake, to free memory. */
  terminate(): void;
}

/**
 * What waits to be sent to one client. Bytes are counted as they are queued, which costs no system
 * call; {@link recount} replaces the count.
 *
 * Which notifications are added, by the bytes that wait:
 *
 * ```
 * | all of them   | all, while the queues of all     | only those that the ring is          |
 * |               | clients together are not full    | about to overwrite                   |
 * 0       GUARANTEED_BYTES                 QUEUED_BYTES_MAX                   OVERFLOW_BYTES_MAX
 * '------------------ writableBytes -----------------'----------- overflowBytes -------------'
 * ```
 */
export class ClientQueue implements ClientSink {
  readonly socket: ClientSocket;
  readonly addressKey: string;
  /** Counts the unsent bytes of all queues of its address. */
  readonly addressBytes: AddressBytes;
  readonly #buffers: ClientBuffers;
  /** Bytes that wait, and {@link ANSWER_BYTES} for each answer. */
  #unsent = 0;
  #atLastRecount = 0;
  /** All bytes that were ever sent. */
  #sent = 0;
  /** For each answer that may be unread, how many bytes were sent up to its end. */
  readonly #answerEnds: number[] = [];
  #readAtMs = 0;

  /** @param buffers Count this queue until {@link ClientBuffers.remove}. */
  constructor(socket: ClientSocket, buffers: ClientBuffers, addressKey: string) {
    this.socket = socket;
    this.addressKey = addressKey;
    this.#buffers = buffers;
    this.addressBytes = buffers.add(this);
  }

  /** Unsent bytes: those of the last recount, and all that were queued since. */
  get unsentUpperBound(): number {
    return this.#unsent;
  }

  /** Sends messages while the socket is open. A client that reads no answers is closed. */
  send(messages: readonly OutgoingMessage[], bytes: number): void {
    if (!this.socket.isOpen) return;
    if (this.#unsentWithin(UNSENT_BYTES_MAX) > UNSENT_BYTES_MAX) {
      this.#buffers.onRefusal();
      this.close(CloseCode.tryAgainLater, "Answers are not read");
      return;
    }
    this.#sent += bytes;
    this.#add(bytes);
    this.socket.write(messages);
  }

  sendAnswer(message: OutgoingMessage): void {
    if (!this.socket.isOpen) return;
    this.send([message], message.byteLength);
    this.#answerEnds.push(this.#sent);
    this.#add(ANSWER_BYTES);
  }

  #add(bytes: number): void {
    this.#unsent += bytes;
    this.addressBytes.unsent += bytes;
    this.#buffers.budget.add(bytes);
  }

  writableBytes(wanted: number): number {
    const unsent = this.#unsentWithin(QUEUED_BYTES_MAX - wanted);
    const ownFree = QUEUED_BYTES_MAX - unsent;
    if (ownFree <= 0) return ownFree;
    const guaranteed = GUARANTEED_BYTES - unsent;
    const sharedFree = this.#buffers.writableBytes(Math.min(wanted, ownFree));
    return Math.min(ownFree, Math.max(guaranteed, sharedFree));
  }

  /** Bytes of notifications that may exceed a full queue: none if the client does not read. */
  overflowBytes(): number {
    const { nowMs } = this.#buffers;
    this.recount(nowMs);
    if (nowMs - this.#readAtMs >= STALLED_MS) return 0;
    const ownFree = OVERFLOW_BYTES_MAX - this.#unsent;
    const sharedFree = this.#buffers.writableBytes(ownFree);
    // No queue may be larger than the free part, so many growing queues leave some for the next.
    return Math.min(ownFree, sharedFree - this.#unsent);
  }

  /** Makes room for an answer; others may be terminated for it. @returns Whether it may be sent. */
  tryAdmitAnswer(bytes: number): boolean {
    return this.#buffers.tryAdmitAnswer(this, bytes);
  }

  close(code: number, reason: string): void {
    this.socket.close(code, reason);
  }

  /** Replaces the count by the unsent bytes now, also for all clients together. */
  recount(nowMs: number): void {
    const { bufferedBytes } = this.socket;
    const read = this.#sent - bufferedBytes;
    const firstUnread = this.#answerEnds.findIndex((end) => end > read);
    this.#answerEnds.splice(0, firstUnread === -1 ? Infinity : firstUnread);
    const unsent = bufferedBytes + this.#answerEnds.length * ANSWER_BYTES;
    const change = unsent - this.#unsent;
    // Some was read since, or nothing was there to read.
    if (change < 0 || this.#atLastRecount === 0) this.#readAtMs = nowMs;
    this.#unsent = this.#atLastRecount = unsent;
    this.#buffers.addUnsent(this, change);
  }

  /** The unsent bytes, or an upper bound of them that is at most `limit`. */
  #unsentWithin(limit: number): number {
    // Rarely: asking each time would slow every send.
    if (this.#unsent > limit) this.recount(this.#buffers.nowMs);
    return this.#unsent;
  }
}

interface AddressBytes {
  unsent: number;
  queues: number;
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
  readonly #queues = new Set<ClientQueue>();
  readonly #addresses = new Map<string, AddressBytes>();
  #refreshedAtMs = -Infinity;

  /**
   * @param clock Measures durations: it must not jump.
   * @param onRefusal Called when an answer is refused or a connection is terminated.
   */
  constructor(budget: ByteBudget, clock: Clock, onRefusal: () => void) {
    this.budget = budget;
    this.#clock = clock;
    this.onRefusal = onRefusal;
    budget.recountWith(() => this.#refresh());
  }

  get nowMs(): number {
    return this.#clock.now();
  }

  /** Counts a queue from now on. @returns The count of its address. */
  add(queue: ClientQueue): AddressBytes {
    this.#queues.add(queue);
    const addressBytes = this.#addresses.get(queue.addressKey) ?? { unsent: 0, queues: 0 };
    addressBytes.queues += 1;
    this.#addresses.set(queue.addressKey, addressBytes);
    return addressBytes;
  }

  /** Removes a queue whose socket has ended, and its unsent bytes from the budget. */
  remove(queue: ClientQueue): void {
    this.addUnsent(queue, -queue.unsentUpperBound);
    if (!this.#queues.delete(queue)) return;
    queue.addressBytes.queues -= 1;
    if (queue.addressBytes.queues === 0) this.#addresses.delete(queue.addressKey);
  }

  /** Counts a change of the unsent bytes of a queue, unless it was removed. */
  addUnsent(queue: ClientQueue, bytes: number): void {
    if (!this.#queues.has(queue)) return;
    queue.addressBytes.unsent += bytes;
    this.budget.add(bytes);
  }

  /** Bytes of notifications that all clients together may still queue; may be below 0. */
  writableBytes(wanted: number): number {
    const max = this.budget.max * SHARE_MAX;
    if (this.budget.used + wanted > max) this.#refresh();
    return max - this.budget.used;
  }

  /** Makes room for a client's answer. @returns Whether it fits; a refusal is counted. */
  tryAdmitAnswer(queue: ClientQueue, bytes: number): boolean {
    const isAdmitted = this.#fitsAddressShare(queue, bytes) && this.#tryMakeFit(queue, bytes);
    if (!isAdmitted) this.onRefusal();
    return isAdmitted;
  }

  /** Whether an address stays within its share with this answer, or its client reads its answers. */
  #fitsAddressShare(queue: ClientQueue, bytes: number): boolean {
    const fits = () =>
      queue.addressBytes.unsent + bytes <= this.budget.max * SHARE_MAX ||
      queue.unsentUpperBound + bytes <= GUARANTEED_BYTES;
    if (fits()) return true;
    this.#refresh();
    return fits();
  }

  /**
   * Terminates other connections, the largest first, until an answer fits. Connections with fewer
   * unsent bytes than this one would then have are spared.
   *
   * @returns Whether the answer fits.
   */
  #tryMakeFit(queue: ClientQueue, bytes: number): boolean {
    const fits = () => {
      const unsent = queue.unsentUpperBound + bytes;
      if (unsent <= GUARANTEED_BYTES) return true;
      return unsent <= SMALL_BYTES ? this.budget.fits(bytes) : this.budget.fitsLarge(bytes);
    };
    while (!fits()) {
      const largest = this.#largest();
      if (largest === undefined) return false;
      if (largest.unsentUpperBound <= queue.unsentUpperBound + bytes) return false;
      this.remove(largest);
      largest.socket.terminate();
      this.onRefusal();
    }
    return true;
  }

  /** The connection with the most unsent bytes of those that can be terminated. */
  #largest(): ClientQueue | undefined {
    let largest: ClientQueue | undefined;
    for (const queue of this.#queues) {
      if (!queue.socket.canTerminate) continue;
      if (queue.unsentUpperBound > (largest?.unsentUpperBound ?? 0)) largest = queue;
    }
    return largest;
  }

  /** Frees the budget of bytes that have been sent meanwhile. */
  #refresh(): void {
    const { nowMs } = this;
    if (nowMs - this.#refreshedAtMs < REFRESH_EVERY_MS) return;
    this.#refreshedAtMs = nowMs;
    for (const queue of this.#queues) queue.recount(nowMs);
  }
}
