import { FairQueue } from "../../../lib/fair_share.ts";

interface FairSlotsLimits {
  slots: number;
  perCaller: number;
  /** Most items that wait; each caller may have a fair share of them. */
  waitingMax: number;
}

/**
 * Slots that callers share. Items without a slot wait, and callers take turns: a caller with
 * thousands of items delays another one by one item.
 */
export class FairSlots<T> {
  readonly #limits: FairSlotsLimits;
  /** Slots in use by caller. */
  readonly #used = new Map<string, number>();
  #usedInAll = 0;
  #waiting = new FairQueue<T>();

  constructor(limits: FairSlotsLimits) {
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
    if (!this.#waiting.canAdd([caller], this.#limits.waitingMax)) return false;
    this.#waiting.add([caller], item);
    return true;
  }

  /** Releases a slot. @returns The item that gets it, of the caller whose turn it is. */
  finish(caller: string): T | undefined {
    const used = this.#used.get(caller) ?? 0;
    if (used > 1) this.#used.set(caller, used - 1);
    else this.#used.delete(caller);
    this.#usedInAll -= 1;
    return this.#waiting.removeNext((next) => this.tryStart(next));
  }

  items(): T[] {
    return this.#waiting.values();
  }

  remove(caller: string, item: T): void {
    this.#waiting.remove([caller], item);
  }

  /** Ends all waits and frees all slots. @returns The items that waited. */
  clear(): T[] {
    const items = this.items();
    this.#waiting = new FairQueue();
    this.#used.clear();
    this.#usedInAll = 0;
    return items;
  }

  #isFree(caller: string): boolean {
    const { slots, perCaller } = this.#limits;
    return this.#usedInAll < slots && (this.#used.get(caller) ?? 0) < perCaller;
  }
}
