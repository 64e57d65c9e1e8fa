import { type Signal, signal } from "@preact/signals";
import {
  type Account,
  type Clock,
  isRangemakerError,
  type RangemakerClient,
  type SolverInfo,
  type Thesis,
} from "@rangemaker/client";
import { Poll } from "../data/http.ts";
import { ThesesBook } from "./theses_book.ts";

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
