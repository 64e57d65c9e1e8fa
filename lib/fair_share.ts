/**
 * Whether a caller may use one more of the shared places: it may while it uses fewer than are free.
 * So the first caller gets at most half of them, the next a quarter, and there are always some for
 * a new caller.
 */
export function isWithinFairShare(used: number, free: number): boolean {
  return used < free;
}

/** Items that wait, by caller: each caller has a share of the places, and callers take turns. */
export class FairQueue<T> {
  readonly #items: T[] = [];
  /** The group whose turn is next comes first. A group is deleted with its last item. */
  readonly #groups = new Map<string, FairQueue<T>>();
  #size = 0;

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  /**
   * Whether one more item of a caller may wait.
   *
   * @param names The groups of the caller, the widest first, and the caller last. The members of a
   *   group share its places by the same rule.
   * @param max Places for all together.
   */
  canAdd([name, ...rest]: readonly string[], max: number): boolean {
    const free = max - this.#size;
    if (name === undefined) return free > 0;
    const group = this.#groups.get(name) ?? new FairQueue();
    // How many more places the group may have: the most x with group.size + x < free - x.
    const more = (free - group.size) / 2;
    return isWithinFairShare(group.size, free) && group.canAdd(rest, group.size + more);
  }

  add([name, ...rest]: readonly string[], item: T): void {
    this.#size += 1;
    if (name === undefined) {
      this.#items.push(item);
      return;
    }
    const group = this.#groups.get(name) ?? new FairQueue();
    group.add(rest, item);
    this.#groups.set(name, group);
  }

  /**
   * Removes and returns the next item. Groups take turns; a caller's items keep their order.
   *
   * @param tryStart Whether the first item of a caller may be removed now; it is if this is true.
   */
  removeNext(tryStart: (item: T) => boolean = () => true): T | undefined {
    for (const [name, group] of this.#groups) {
      const item = group.removeNext(tryStart);
      if (item === undefined) continue;
      this.#size -= 1;
      this.#groups.delete(name);
      if (group.size > 0) this.#groups.set(name, group);
      return item;
    }
    const first = this.#items[0];
    if (first === undefined || !tryStart(first)) return undefined;
    this.#size -= 1;
    return this.#items.shift();
  }

  /** Removes an item. @returns Whether it waited. */
  remove([name, ...rest]: readonly string[], item: T): boolean {
    if (name === undefined) {
      const index = this.#items.indexOf(item);
      if (index === -1) return false;
      this.#items.splice(index, 1);
    } else {
      const group = this.#groups.get(name);
      if (!group?.remove(rest, item)) return false;
      if (group.size === 0) this.#groups.delete(name);
    }
    this.#size -= 1;
    return true;
  }

  /** All items, without an order between groups. */
  values(): T[] {
    return [...this.#items, ...[...this.#groups.values()].flatMap((group) => group.values())];
  }
}
