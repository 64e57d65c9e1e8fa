import { type Signal, signal } from "@preact/signals";
import {
  type Account,
  type Address,
  type Clock,
  isRangemakerError,
  type RangemakerClient,
  type SolverInfo,
  type Thesis,
  type ThesisWatch,
} from "@rangemaker/client";
import * as z from "zod";
import { get, Poll } from "../data/http.ts";

/** The known state of the solver and its bets. */
export interface MakerState {
  /** Undefined if it has not answered since the page was opened: its bets are known without it. */
  info: SolverInfo | undefined;
  address: Address;
  account: Account;
  /** Bound on the exposure, USDC with 6 decimals: null without one, undefined before it is known. */
  maxExposure: bigint | null | undefined;
  /** Oldest first. */
  theses: readonly Thesis[];
}

const limitSchema = z.object({
  maxExposure: z.string().regex(/^\d+$/).transform(BigInt).nullable(),
});

/** Follows a solver's account and bets while it is started. */
export class MakerWatch {
  /** Undefined before the first answers. */
  readonly state: Signal<MakerState | undefined> = signal(undefined);
  /** Why the state is not the newest; undefined if it is. */
  readonly problem: Signal<string | undefined> = signal(undefined);
  readonly #client: RangemakerClient;
  readonly #solverUrl: string;
  readonly #poll: Poll;
  #watch: ThesisWatch | undefined;
  /** The solver and the chain of the watch. */
  #watched = "";

  constructor(client: RangemakerClient, solverUrl: string, clock: Clock) {
    this.#client = client;
    this.#solverUrl = solverUrl;
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
      const known = this.state.value;
      const info = await this.#client.solverInfo(signal).catch(() => known?.info);
      // Without it, the solver of the chain's first bet: most chains have one solver.
      const address = info?.address ?? known?.address ?? await this.#firstSolver();
      const account = await this.#client.account(address);
      const maxExposure = await this.#readLimit(signal);
      // Of another solver, or another chain.
      const watched = `${address} ${await this.#client.genesisHash()}`;
      if (signal.aborted) return;
      if (watched !== this.#watched) this.#closeWatch();
      const watch = this.#watch ?? await this.#client.watch({}, { solver: address });
      if (signal.aborted) return watch === this.#watch ? undefined : watch.close();
      [this.#watch, this.#watched] = [watch, watched];
      this.state.value = { info, address, account, maxExposure, theses: watch.theses };
      this.problem.value = watch.state === "live" ? undefined : "reconnecting";
    } catch (thrown) {
      if (!isRangemakerError(thrown)) throw thrown;
      if (!signal.aborted) this.problem.value = thrown.message;
    }
  }

  async #firstSolver(): Promise<Address> {
    const { value } = await this.#client.theses({ limit: 1 }).next();
    const solver = value?.theses[0]?.solver;
    // Without bets only the solver itself knows its address: its own error is what to say.
    return solver ?? (await this.#client.solverInfo()).address;
  }

  /** Undefined without an answer: the page says elsewhere that the solver is away. */
  #readLimit(signal: AbortSignal): Promise<bigint | null | undefined> {
    return get(`${this.#solverUrl}/theses?limit=1`, signal)
      .then(({ text }) => limitSchema.parse(JSON.parse(text)).maxExposure)
      .catch(() => undefined);
  }
}
