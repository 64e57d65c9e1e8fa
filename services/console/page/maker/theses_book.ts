import { pagesOf } from "../../../../lib/net/pages.ts";
import type { ThesisFilter } from "../../../../lib/net/core_client.ts";
import type { Address, Thesis } from "../../../../lib/client/mod.ts";
import { isUnsettled } from "../../../../lib/protocol/thesis.ts";

/** Theses in one answer. */
const PAGE = 500;

/** Reads theses of a node. */
export interface ThesesReader {
  getTheses(filter: ThesisFilter): Promise<{ theses: Thesis[]; nextCursor: string | null }>;
  getThesis(id: number): Promise<Thesis | null>;
}

/** All theses of one solver. A pass reads what is new and what may have been settled. */
export class ThesesBook {
  readonly #node: ThesesReader;
  readonly #solver: Address;
  readonly #byId = new Map<number, Thesis>();
  /** Where the last page begins that had theses: read again, since it may have grown. */
  #lastPage: string | undefined;

  constructor(node: ThesesReader, solver: Address) {
    this.#node = node;
    this.#solver = solver;
  }

  /** Every known thesis, oldest first. */
  get theses(): Thesis[] {
    return [...this.#byId.values()].sort((a, b) => a.id - b.id);
  }

  /** Reads what changed. @throws {RangemakerError} The node does not answer. */
  async refresh(): Promise<void> {
    const waiting = [...this.#byId.values()].filter(({ status }) => isUnsettled(status));
    const isSame = await this.#readNew();
    if (!isSame) {
      // The chain was reset: everything known is of another one.
      this.#byId.clear();
      this.#lastPage = undefined;
      await this.#readNew();
      return;
    }
    await this.#readSettled(waiting);
  }

  /** @returns False if a thesis that was known is another one now, or gone. */
  async #readNew(): Promise<boolean> {
    const { solver, known } = { solver: this.#solver, known: this.#byId.size };
    let start = this.#lastPage;
    let seen = 0;
    const read = (cursor?: string) => {
      const from = cursor ?? this.#lastPage;
      start = from;
      return this.#node.getTheses({ solver, limit: PAGE, cursor: from });
    };
    for await (const { theses } of pagesOf(read)) {
      if (theses.length > 0) this.#lastPage = start;
      seen += theses.length;
      for (const thesis of theses) {
        const before = this.#byId.get(thesis.id);
        if (before !== undefined && before.quoteHash !== thesis.quoteHash) return false;
        this.#byId.set(thesis.id, thesis);
      }
    }
    return known === 0 || seen > 0;
  }

  /** Reads the outcome of theses that wait no more. */
  async #readSettled(waiting: readonly Thesis[]): Promise<void> {
    const open = new Set<number>();
    for (const status of ["open", "needs_backfill"] as const) {
      const read = (cursor?: string) =>
        this.#node.getTheses({ solver: this.#solver, status, limit: PAGE, cursor });
      for await (const { theses } of pagesOf(read)) theses.forEach(({ id }) => open.add(id));
    }
    for (const { id } of waiting) {
      const isRead = !isUnsettled(this.#byId.get(id)?.status ?? "won");
      if (isRead || open.has(id)) continue;
      const thesis = await this.#node.getThesis(id);
      if (thesis !== null) this.#byId.set(id, thesis);
    }
  }
}
