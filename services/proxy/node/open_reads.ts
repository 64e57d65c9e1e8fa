import type { CallAnswer } from "../shared/envelopes.ts";

/** A plain read: it changes nothing, so it may be sent twice. */
export interface Read {
  method: string;
  /** The text of the call after its id. */
  textAfterId: string;
  node: number;
  /** Key of the caller; callers take turns. */
  caller: string;
  forwardedFor: string;
  /** Whether it may share a socket with others: false if the read or its answer is large. */
  fitsSocket: boolean;
}

/** A read that waits for a slot of the socket, was sent over it, or was also sent over HTTP. */
export class OpenRead {
  readonly answer: Promise<CallAnswer>;
  readonly resolve: (answer: CallAnswer) => void;
  readonly reject: (error: unknown) => void;
  /** Its id on the socket; 0 while it waits for a slot. */
  id = 0;
  /** Whether it was also sent over HTTP. */
  isAlsoOverHttp = false;
  /** The answer over HTTP, unless that has failed. */
  httpAnswer: Promise<CallAnswer> | undefined;

  constructor(readonly read: Read, readonly startedAtMs: number) {
    const { promise, resolve, reject } = Promise.withResolvers<CallAnswer>();
    this.answer = promise;
    this.resolve = resolve;
    this.reject = reject;
  }

  /** Settles with the outcome of the same read over HTTP. Never rejects. */
  async settleWith(answer: Promise<CallAnswer>): Promise<void> {
    try {
      this.resolve(await answer);
    } catch (error) {
      this.reject(error);
    }
  }
}

/** Ids repeat after this many reads, and stay below 2^30: V8 writes larger numbers more slowly. */
const SEQUENCE_MAX = 2 ** 20;

/**
 * The reads that are open on a socket, by id. Each has a slot, whose number is part of the id. A
 * `Map` keeps removed reads in memory for longer, which takes 7 % of the CPU of a read (compare
 * with `tests/bench/proxy_http_bench.ts`).
 */
export class OpenReads {
  readonly #slots: (OpenRead | undefined)[];
  readonly #free: number[];
  #sequence = 0;

  /** @param max How many reads may be open at once: at most 1,023. */
  constructor(max: number) {
    this.#slots = new Array(max).fill(undefined);
    this.#free = [...this.#slots.keys()];
  }

  get size(): number {
    return this.#slots.length - this.#free.length;
  }

  /** Gives a read its id, which is never 0. @throws {RangeError} If too many are open. */
  add(read: OpenRead): void {
    const slot = this.#free.pop();
    if (slot === undefined) throw new RangeError(`${this.size} reads are open`);
    this.#sequence = this.#sequence % SEQUENCE_MAX + 1;
    read.id = this.#sequence * this.#slots.length + slot;
    this.#slots[slot] = read;
  }

  get(id: number): OpenRead | undefined {
    const read = this.#slots[id % this.#slots.length];
    return read?.id === id ? read : undefined;
  }

  delete({ id }: OpenRead): void {
    const slot = id % this.#slots.length;
    this.#slots[slot] = undefined;
    this.#free.push(slot);
  }

  all(): OpenRead[] {
    return this.#slots.filter((read) => read !== undefined);
  }
}
