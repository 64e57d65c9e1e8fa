import { type Signal, signal } from "@preact/signals";
import {
  type Account,
  type CancelTimer,
  isOutcomeUnknown,
  isRangemakerError,
  isUnsettled,
  randomNonce,
  type RangemakerClient,
  type Thesis,
  type ThesisWatch,
} from "@rangemaker/client";
import { messageOf } from "../../../../lib/errors.ts";
import { BetKeeper, type BetKeeperOptions } from "./bet_keeper.ts";
import { Poll } from "./http.ts";

/** Pause between attempts to follow the user's bets. */
const RETRY_MS = 1_000;

/** Balances are read this often, since they may change without a bet, for example by a deposit. */
const REFRESH_MS = 5_000;

/** A bet changes the balance; a read that soon covers all bets that are reported together. */
const REFRESH_SOON_MS = 100;

interface PortfolioOptions extends Omit<BetKeeperOptions, "readTheses"> {
  client: RangemakerClient;
}

/** Follows one user's balance and bets. */
export class Portfolio {
  /** Undefined until the node has answered. */
  readonly account: Signal<Account | undefined> = signal(undefined);
  /** Newest first. */
  readonly theses: Signal<readonly Thesis[]> = signal([]);
  /** The last bet that was seen open and is settled now. */
  readonly settled: Signal<Thesis | undefined> = signal(undefined);
  /** Why the bets may be out of date; undefined at the start, and while they are up to date. */
  readonly problem: Signal<string | undefined> = signal(undefined);
  /** Signed bets on their way to the chain. */
  readonly bets: BetKeeper;
  readonly #options: PortfolioOptions;
  #watch: ThesisWatch | undefined;
  #cancelTimer: CancelTimer = () => {};
  #cancelRefresh: CancelTimer | undefined;
  #closed = false;
  /** Reads the balance. */
  readonly #poll: Poll;
  /** The nonces of deposits without an answer, by amount. */
  readonly #nonceByLostAmount = new Map<bigint, bigint>();

  constructor(options: PortfolioOptions) {
    this.#options = options;
    const { client, user, clock } = options;
    let [lastRequest, lastAnswered] = [0, 0];
    this.#poll = new Poll(clock, async () => {
      const theses = this.#watch?.theses ?? this.theses.value;
      // A chain that was restored does not have all of them.
      if (theses.length < this.theses.value.length) this.theses.value = theses.toReversed();
      const number = lastRequest += 1;
      // Asked again soon; meanwhile the last balance is shown.
      const account = await client.account(user).catch(() => undefined);
      if (account === undefined || this.#closed || number < lastAnswered) return;
      [this.account.value, lastAnswered] = [account, number];
    }, REFRESH_MS);
    this.bets = new BetKeeper({ ...options, readTheses: () => this.#readTheses() });
  }

  /** Starts following, and resends signed bets that have no answer. */
  start(): void {
    void this.#connect();
    this.refresh();
    this.bets.start();
  }

  close(): void {
    this.#closed = true;
    this.bets.close();
    this.#cancelTimer();
    this.#cancelRefresh?.();
    this.#poll.stop();
    this.#watch?.close();
  }

  /** Deposits USDC. After a lost answer, the same amount again repeats the deposit: it is made once. */
  async deposit(amount: bigint): Promise<void> {
    const nonces = this.#nonceByLostAmount;
    const nonce = nonces.get(amount) ?? randomNonce();
    try {
      await this.#options.client.deposit(amount, nonce);
    } catch (thrown) {
      const state = isRangemakerError(thrown, "NONCE_USED") ? thrown.details.state : undefined;
      if (isOutcomeUnknown(thrown)) nonces.set(amount, nonce);
      else if (state === "failed") nonces.delete(amount);
      if (state !== "committed") throw thrown;
    } finally {
      this.refresh();
    }
    nonces.delete(amount);
  }

  /**
   * Reads the balance now. An earlier request that answers first still counts: bets that end one
   * after the other have it read again and again.
   */
  refresh(): void {
    this.#cancelRefresh = undefined;
    if (!this.#closed) this.#poll.start();
  }

  #refreshSoon(): void {
    this.#cancelRefresh ??= this.#options.clock.after(REFRESH_SOON_MS, () => this.refresh());
  }

  async #connect(): Promise<void> {
    const { client, user, clock } = this.#options;
    try {
      const watch = await client.watch({
        onThesis: (thesis) => this.#receive(thesis),
        onState: (state) => {
          this.problem.value = state === "live" ? undefined : "reconnecting";
          if (state === "live") this.refresh();
        },
      }, user);
      if (this.#closed) return watch.close();
      this.#watch = watch;
    } catch (thrown) {
      if (this.#closed) return;
      this.problem.value = messageOf(thrown);
      this.#cancelTimer = clock.after(RETRY_MS, () => void this.#connect());
    }
  }

  /** Confirms all bets that the chain has now. @returns False if they cannot be read. */
  async #readTheses(): Promise<boolean> {
    const watch = this.#watch;
    try {
      await watch?.refresh();
    } catch {
      return false; // it is closed, or the chain cannot be read
    }
    for (const thesis of watch?.theses ?? []) this.bets.confirm(thesis);
    return watch !== undefined;
  }

  #receive(thesis: Thesis): void {
    if (this.#closed) return;
    const before = this.theses.value.find(({ id }) => id === thesis.id);
    const others = this.theses.value.filter((other) => other !== before);
    const older = others.findIndex(({ id }) => id < thesis.id);
    this.theses.value = others.toSpliced(older === -1 ? others.length : older, 0, thesis);
    this.bets.confirm(thesis);
    const wasSeenOpen = before !== undefined && isUnsettled(before.status);
    if (wasSeenOpen && !isUnsettled(thesis.status)) this.settled.value = thesis;
    this.#refreshSoon();
  }
}
