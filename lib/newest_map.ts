/** A map of the newest entries: an entry beyond `max` replaces the oldest. */
export class NewestMap<K, V> extends Map<K, V> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: K, value: V): this {
    this.delete(key); // a key that is set again is the newest
    if (this.size >= this.#max) {
      const oldest = this.keys().next();
      if (oldest.done !== true) this.delete(oldest.value);
    }
    return super.set(key, value);
  }
}
