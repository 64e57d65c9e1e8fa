import { type Signal, signal } from "@preact/signals";
import {
  type Account,
  type Clock,
  isRangemakerError,
  type RangemakerClient,
  type SolverInfo,
  type Thesis,
  type ThesisWatch,
} from "@rangemaker/client";
import { Poll } from "../data/http.ts";

/** The known state of the solver and its bets. */
export interface MakerState {
  info: SolverInfo;
  account: Account;
  /** Oldest first. */
  theses: readonly Thesis[];
}

/** Follows a solver's account and bets while it is started. */
export class MakerWatch {
  /** Undefined before the first answers. */
  readonly state: Signal<MakerState | undefined> = signal(undefined);
  /** Why the state is not the newest; undefined if it is. */
  readonly problem: Signal<string | undefined> = signal(undefined);
  readonly #client: RangemakerClient;
  readonly #poll: Poll;
  #watch: ThesisWatch | undefined;
  /** The solver and the chain of the watch. */
  #watched = "";

  constructor(client: RangemakerClient, clock: Clock) {
    this.#client = client;
    this.#poll = new Poll(clock, (signal) => this.#read(signal));
  }

  start(): void {
    this.#poll.start();
  }

  stop(): void {
    this.#poll.stop();
    this.#closeWatch();
  }

  #closeWatch(): void {
    this.#watch?.close();
    this.#watch = undefined;
  }

  async #read(signal: AbortSignal): Promise<void> {
    try {
      const known = this.state.value?.info;
      // The bets are known without the solver, once its address is.
      const info = await this.#client.solverInfo(signal)
        .catch((thrown) => known ?? Promise.reject(thrown));
      const account = await this.#client.account(info.address);
      // Of another solver, or another chain.
      const watched = `${info.address} ${await this.#client.genesisHash()}`;
      if (signal.aborted) return;
      if (watched !== this.#watched) this.#closeWatch();
      const watch = this.#watch ?? await this.#client.watch({}, { solver: info.address });
      if (signal.aborted) return watch === this.#watch ? undefined : watch.close();
      [this.#watch, this.#watched] = [watch, watched];
      this.state.value = { info, account, theses: watch.theses };
      this.problem.value = watch.state === "live" ? undefined : "reconnecting";
    } catch (thrown) {
      if (!isRangemakerError(thrown)) throw thrown;
      if (!signal.aborted) this.problem.value = thrown.message;
    }
  }
}
