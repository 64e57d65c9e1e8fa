import { lowerBound } from "../../../lib/lower_bound.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";

/** Theses by id, with the quotes that opened them. Settled ones can be dropped; ids are never reused. */
export class ThesisTable {
  /** Ordered by id. */
  #theses: Thesis[] = [];
  #lastId = 0;
  readonly #quoteHashes = new Set<Hex>();

  /** All theses that were not dropped, ordered by id. */
  get all(): readonly Thesis[] {
    return this.#theses;
  }

  /** The highest id that was ever used. */
  get lastId(): number {
    return this.#lastId;
  }

  get(id: number): Thesis | undefined {
    const thesis = this.#theses[this.#indexFrom(id)];
    return thesis?.id === id ? thesis : undefined;
  }

  /** Theses with an id in `[fromId, toId)`, by id. */
  between(fromId: number, toId: number): readonly Thesis[] {
    return this.#theses.slice(this.#indexFrom(fromId), this.#indexFrom(toId));
  }

  /** Whether a thesis that was not dropped was opened by this quote. */
  hasQuote(quoteHash: Hex): boolean {
    return this.#quoteHashes.has(quoteHash);
  }

  /** Adds a thesis with an id above those of all others. */
  add(thesis: Thesis): void {
    this.#theses.push(thesis);
    this.skipTo(thesis.id);
    this.#quoteHashes.add(thesis.quoteHash);
  }

  /** Replaces the thesis with the same id. */
  replace(thesis: Thesis): void {
    this.#theses[this.#indexFrom(thesis.id)] = thesis;
  }

  /** Never uses an id up to this one. */
  skipTo(lastId: number): void {
    this.#lastId = Math.max(this.#lastId, lastId);
  }

  /** Drops theses and their quotes. */
  drop(theses: readonly Thesis[]): void {
    const ids = new Set(theses.map(({ id }) => id));
    if (ids.size > 0) this.#theses = this.#theses.filter(({ id }) => !ids.has(id));
    for (const { quoteHash } of theses) this.#quoteHashes.delete(quoteHash);
  }

  /** Index of the first thesis whose id is not lower. */
  #indexFrom(id: number): number {
    // As long as nothing was dropped, every thesis is where its id says.
    if (this.#theses[id - 1]?.id === id) return id - 1;
    return lowerBound(this.#theses, id, (thesis) => thesis.id);
  }
}
