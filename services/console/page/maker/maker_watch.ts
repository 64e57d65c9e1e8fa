import { type Signal, signal } from "@preact/signals";
import {
  type Account,
  type Address,
  type Clock,
  isRangemakerError,
  isUnsettled,
  type RangemakerClient,
  type SolverInfo,
  type Thesis,
} from "@rangemaker/client";
import { Poll } from "../data/http.ts";

/** Theses in one answer. */
const PAGE = 500;

/** The known state of the solver and its bets. */
export interface MakerState {
  info: SolverInfo;
  account: Account;
  /** Oldest first. */
  theses: readonly Thesis[];
}

/** Follows a solver's account and bets while its {@link poll} is started. */
export class MakerWatch {
  /** Undefined before the first answers. */
  readonly state: Signal<MakerState | undefined> = signal(undefined);
  /** Why the state is not the newest; undefined if it is. */
  readonly problem: Signal<string | undefined> = signal(undefined);
  readonly #client: RangemakerClient;
  readonly poll: Poll;
  #book: ThesesBook | undefined;

  constructor(client: RangemakerClient, clock: Clock) {
    this.#client = client;
    this.poll = new Poll(clock, (signal) => this.#read(signal));
  }

  async #read(signal: AbortSignal): Promise<void> {
    try {
      const known = this.state.value?.info;
      // The bets are known without the solver, once its address is.
      const info = await this.#client.solverInfo(signal)
        .catch((thrown) => known ?? Promise.reject(thrown));
      if (known?.address !== info.address) this.#book = undefined;
      this.#book ??= new ThesesBook(this.#client, info.address);
      await this.#book.refresh();
      const account = await this.#client.account(info.address);
      if (signal.aborted) return;
      this.state.value = { info, account, theses: this.#book.theses };
      this.problem.value = undefined;
    } catch (thrown) {
      if (!isRangemakerError(thrown)) throw thrown;
      if (!signal.aborted) this.problem.value = thrown.message;
    }
  }
}

/** Reads theses of a chain. */
export type ThesesReader = Pick<RangemakerClient, "thesis" | "theses">;

/** All theses of one solver. A pass reads what is new and what may have been settled. */
export class ThesesBook {
  readonly #client: ThesesReader;
  readonly #solver: Address;
  readonly #byId = new Map<number, Thesis>();
  /** Where the last page begins that had theses: read again, since it may have grown. */
  #lastPage: string | undefined;

  constructor(client: ThesesReader, solver: Address) {
    this.#client = client;
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
    const pages = this.#client.theses({ solver, limit: PAGE, cursor: start });
    for await (const { theses, nextCursor } of pages) {
      if (theses.length > 0) this.#lastPage = start;
      start = nextCursor ?? undefined;
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
      const pages = this.#client.theses({ solver: this.#solver, status, limit: PAGE });
      for await (const { theses } of pages) theses.forEach(({ id }) => open.add(id));
    }
    for (const { id } of waiting) {
      const isRead = !isUnsettled(this.#byId.get(id)?.status ?? "won");
      if (isRead || open.has(id)) continue;
      const thesis = await this.#client.thesis(id);
      if (thesis !== null) this.#byId.set(id, thesis);
    }
  }
}
