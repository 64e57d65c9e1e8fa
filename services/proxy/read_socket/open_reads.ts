import { FairQueue } from "../../../lib/fair_share.ts";
import type { Read } from "../node/read_pool.ts";
import { AddressCounts } from "../shared/limits.ts";
import type { CallAnswer } from "../shared/envelopes.ts";

/** A read was sent over the socket. */
export interface SentRead {
  at: "socket";
  id: number;
  /** Its answer over HTTP, if it was sent that way too. */
  http?: Promise<CallAnswer> | "failed";
}

/** A read without an answer. */
export class OpenRead {
  readonly answer = Promise.withResolvers<CallAnswer>();
  state: { at: "queue" } | SentRead = { at: "queue" };

  constructor(readonly read: Read, readonly startedAtMs: number) {}
}

/** Ids repeat after this many reads, and stay below 2^30: V8 writes larger numbers more slowly. */
const SEQUENCE_MAX = 2 ** 20;

interface OpenReadsLimits {
  /** How many reads may be open at once: at most 1,023. */
  slots: number;
  perCaller: number;
  /** How many reads may wait; each caller may have a fair share of them. */
  waitingMax: number;
}

/**
 * The reads of a socket: those that are open, by id, and those that wait for a slot. Callers take
 * turns: a caller with thousands of reads delays another one by one read.
 *
 * The number of a slot is part of the read's id. A `Map` keeps removed reads in memory for longer,
 * which takes 7 % of the CPU of a read (compare with `tests/bench/proxy_http_bench.ts`).
 */
export class OpenReads {
  readonly #limits: OpenReadsLimits;
  readonly #slots: (OpenRead | undefined)[];
  readonly #free: number[];
  readonly #perCaller: AddressCounts;
  #waiting = new FairQueue<OpenRead>();
  #sequence = 0;

  constructor(limits: OpenReadsLimits) {
    this.#limits = limits;
    this.#slots = new Array(limits.slots).fill(undefined);
    this.#free = [...this.#slots.keys()];
    this.#perCaller = new AddressCounts(limits.perCaller, limits.slots);
  }

  /** How many are open. */
  get size(): number {
    return this.#slots.length - this.#free.length;
  }

  /** Gives a read a slot and an id, which is never 0. @returns False if its caller gets none. */
  tryOpen(open: OpenRead): boolean {
    const slot = this.#free.at(-1);
    if (slot === undefined || !this.#perCaller.tryAdd(open.read.caller)) return false;
    this.#free.pop();
    this.#sequence = this.#sequence % SEQUENCE_MAX + 1;
    open.state = { at: "socket", id: this.#sequence * this.#slots.length + slot };
    this.#slots[slot] = open;
    return true;
  }

  /** Makes a read wait for a slot. @returns False if too many wait. */
  wait(open: OpenRead): boolean {
    const groups = [open.read.caller.key];
    if (!this.#waiting.canAdd(groups, this.#limits.waitingMax)) return false;
    this.#waiting.add(groups, open);
    return true;
  }

  get(id: number): OpenRead | undefined {
    const open = this.#slots[id % this.#slots.length];
    return open?.state.at === "socket" && open.state.id === id ? open : undefined;
  }

  /** Ends a read. @returns The one that is open in its place, of the caller whose turn it is. */
  finish(open: OpenRead): OpenRead | undefined {
    const { state, read: { caller } } = open;
    if (state.at === "queue") {
      this.#waiting.remove([caller.key], open);
      return undefined;
    }
    const slot = state.id % this.#slots.length;
    this.#slots[slot] = undefined;
    this.#free.push(slot);
    this.#perCaller.remove(caller);
    return this.#waiting.removeNext((next) => this.tryOpen(next));
  }

  listOpen(): OpenRead[] {
    return this.#slots.filter((open) => open !== undefined);
  }

  listWaiting(): OpenRead[] {
    return this.#waiting.values();
  }

  /** Removes all reads. @returns Them: those that were open come first. */
  clear(): OpenRead[] {
    const [open, waiting] = [this.listOpen(), this.listWaiting()];
    this.#waiting = new FairQueue();
    for (const read of open) this.finish(read);
    return [...open, ...waiting];
  }
}
