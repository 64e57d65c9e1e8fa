const NO_GROUPS: ReadonlyMap<string, WaitingTasks> = new Map();

/** Tasks that wait, by caller: each caller has a share of the places, and callers take turns. */
export class WaitingTasks {
  readonly #tasks: (() => void)[] = [];
  /** The group whose turn is next comes first; a group goes with its last task. */
  readonly #groups = new Map<string, WaitingTasks>();
  #size = 0;

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  /**
   * Whether one more task of a caller may wait: only while more places are free than the caller's
   * tasks take. So one caller takes half of the places at most, and another one always finds some.
   *
   * @param path The caller as the last of its groups, each a part of the one before: what a group may
   *   have more, its members share by the same rule.
   * @param max Places for all together.
   */
  hasRoom(path: readonly string[], max: number): boolean {
    let room = max - this.#size;
    let groups: ReadonlyMap<string, WaitingTasks> = this.#groups;
    for (const name of path) {
      const group = groups.get(name);
      const own = group?.size ?? 0;
      if (own >= room) return false;
      // What the group can still get, since each place that it takes is also free no longer.
      room = (room - own) / 2;
      groups = group === undefined ? NO_GROUPS : group.#groups;
    }
    return room > 0;
  }

  /** Adds a task of a caller. */
  add([name, ...rest]: readonly string[], task: () => void): void {
    this.#size += 1;
    if (name === undefined) {
      this.#tasks.push(task);
      return;
    }
    const group = this.#groups.get(name) ?? new WaitingTasks();
    group.add(rest, task);
    this.#groups.set(name, group);
  }

  /** Takes the next task: groups take turns, and a caller's tasks keep their order. */
  take(): (() => void) | undefined {
    if (this.#size === 0) return undefined;
    this.#size -= 1;
    if (this.#tasks.length > 0) return this.#tasks.shift();
    for (const [name, group] of this.#groups) {
      const task = group.take();
      this.#groups.delete(name);
      if (group.size > 0) this.#groups.set(name, group);
      return task;
    }
  }
}
