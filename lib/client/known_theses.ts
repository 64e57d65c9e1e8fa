import { isUnsettled, type Thesis } from "../protocol/thesis.ts";

/** A read counts only if its rank is higher, so a slow answer never undoes a notification. */
const RANK = { open: 0, needs_backfill: 1, won: 2, lost: 2 } as const;

/**
 * An answer that contradicts a state known for longer than this is no slow one: the chain was
 * restored while the watch was disconnected.
 */
const SLOW_ANSWER_MS = 10_000;

/** The newest settled theses that are remembered at least; at most twice as many. */
const SETTLED_KEPT = 10_000;

/** A thesis, and when its state was reported. */
interface KnownThesis {
  thesis: Thesis;
  atMs: number;
}

/** The newest state of each unsettled and each newer settled thesis. */
export class KnownTheses {
  readonly #newest = new Map<number, KnownThesis>();
  #forgetAbove = SETTLED_KEPT * 2; // with more than this, older settled theses are forgotten
  /** Highest id that was forgotten. */
  #forgottenTo = 0;

  /** Oldest first. */
  list(): Thesis[] {
    return [...this.#newest.values()].map(({ thesis }) => thesis).sort((a, b) => a.id - b.id);
  }

  /** Adds what was read, unless something newer is known. @returns Whether it is new. */
  addRead(thesis: Thesis, nowMs: number): boolean {
    const known = this.#knownOf(thesis);
    const isForgotten = thesis.id <= this.#forgottenTo && !isUnsettled(thesis.status);
    if (known === undefined && isForgotten) return false;
    const isNewer = known === undefined || RANK[thesis.status] > RANK[known.thesis.status] ||
      isLongAgo(known.atMs, nowMs);
    return isNewer && this.addNotified(thesis, nowMs);
  }

  /**
   * Adds what a notification reports. A revert of a development node opens settled theses again.
   *
   * @returns Whether it is new.
   */
  addNotified(thesis: Thesis, nowMs: number): boolean {
    if (this.#knownOf(thesis)?.thesis.status === thesis.status) return false;
    this.#newest.set(thesis.id, { thesis, atMs: nowMs });
    if (this.#newest.size > this.#forgetAbove) this.#forgetOldest();
    return true;
  }

  /** Drops theses above the chain's newest id: a restored chain does not have them. */
  dropAfter(lastId: number, nowMs: number): void {
    for (const [id, { atMs }] of this.#newest) {
      if (id > lastId && isLongAgo(atMs, nowMs)) this.#newest.delete(id);
    }
  }

  /** Another hash under the same id: a development node was restarted with a new chain. */
  #knownOf({ id, quoteHash }: Thesis): KnownThesis | undefined {
    const known = this.#newest.get(id);
    return known?.thesis.quoteHash === quoteHash ? known : undefined;
  }

  #forgetOldest(): void {
    const settled = this.list().filter(({ status }) => !isUnsettled(status));
    for (const { id } of settled.slice(0, -SETTLED_KEPT)) {
      this.#newest.delete(id);
      this.#forgottenTo = Math.max(this.#forgottenTo, id);
    }
    this.#forgetAbove = this.#newest.size + SETTLED_KEPT;
  }
}

/** Whether an answer that contradicts what was known is no slow one. A revert moves the time back. */
const isLongAgo = (atMs: number, nowMs: number) => Math.abs(nowMs - atMs) > SLOW_ANSWER_MS;
