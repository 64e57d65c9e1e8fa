import { isWithinFairShare } from "../../../lib/fair_share.ts";

interface FairQueueLimits {
  slots: number;
  perCaller: number;
  /** Most items that wait; each caller may have a fair share of them. */
  waitingMax: number;
}

/**
 * Slots that callers share. Items without a slot wait, and callers take turns: a caller with
 * thousands of items delays another one by one item.
 */
export class FairQueue<T> {
  readonly #limits: FairQueueLimits;
  /** Slots in use by caller. */
  readonly #used = new Map<string, number>();
  #usedInAll = 0;
  /** Waiting items by caller; the caller whose turn is next comes first. */
  readonly #waiting = new Map<string, T[]>();
  #waitingInAll = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  /** Reserves a slot. @returns False if there is none. */
  tryStart(caller: string): boolean {
    if (!this.#isFree(caller)) return false;
    this.#used.set(caller, (this.#used.get(caller) ?? 0) + 1);
    this.#usedInAll += 1;
    return true;
  }

  /** Waits for a slot. @returns False if too many wait. */
  wait(caller: string, item: T): boolean {
    const queue = this.#waiting.get(caller);
    const free = this.#limits.waitingMax - this.#waitingInAll;
    if (!isWithinFairShare(queue?.length ?? 0, free)) return false;
    if (queue === undefined) this.#waiting.set(caller, [item]);
    else queue.push(item);
    this.#waitingInAll += 1;
    return true;
  }

  /** Releases a slot. @returns The item that gets it, of the caller whose turn it is. */
  finish(caller: string): T | undefined {
    const used = this.#used.get(caller) ?? 0;
    if (used > 1) this.#used.set(caller, used - 1);
    else this.#used.delete(caller);
    this.#usedInAll -= 1;
    for (const [next, [item]] of this.#waiting) {
      if (item === undefined || !this.tryStart(next)) continue;
      this.remove(next, item);
      const others = this.#waiting.get(next);
      if (others !== undefined) { // its next turn comes after those of all others
        this.#waiting.delete(next);
        this.#waiting.set(next, others);
      }
      return item;
    }
  }

  items(): T[] {
    return [...this.#waiting.values()].flat();
  }

  remove(caller: string, item: T): void {
    const queue = this.#waiting.get(caller);
    const at = queue?.indexOf(item) ?? -1;
    if (queue === undefined || at === -1) return;
    queue.splice(at, 1);
    this.#waitingInAll -= 1;
    if (queue.length === 0) this.#waiting.delete(caller);
  }

  /** Ends all waits and frees all slots. @returns The items that waited. */
  clear(): T[] {
    const items = this.items();
    this.#waiting.clear();
    this.#used.clear();
    this.#usedInAll = this.#waitingInAll = 0;
    return items;
  }

  #isFree(caller: string): boolean {
    const { slots, perCaller } = this.#limits;
    return this.#usedInAll < slots && (this.#used.get(caller) ?? 0) < perCaller;
  }
}
