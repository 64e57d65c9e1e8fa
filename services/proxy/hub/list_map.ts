/** Values by a key that several of them may share. */
export class ListMap<T> {
  readonly #lists = new Map<string, readonly T[]>();

  get isEmpty(): boolean {
    return this.#lists.size === 0;
  }

  *all(): IterableIterator<T> {
    for (const list of this.#lists.values()) yield* list;
  }

  of(key: string): readonly T[] {
    return this.#lists.get(key) ?? [];
  }

  add(key: string, value: T): void {
    this.#lists.set(key, [...this.of(key), value]);
  }

  delete(key: string, value: T): void {
    const others = this.of(key).filter((other) => other !== value);
    if (others.length === 0) this.#lists.delete(key);
    else this.#lists.set(key, others);
  }
}
