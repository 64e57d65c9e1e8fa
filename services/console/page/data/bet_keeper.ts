import { type Signal, signal } from "@preact/signals";
import {
  type Address,
  type CancelTimer,
  type Clock,
  isOutcomeUnknown,
  isRangemakerError,
  type RangemakerClient,
  RangemakerError,
  type Thesis,
} from "@rangemaker/client";
import type { PendingBet, PendingBets } from "./pending_bets.ts";

/** The outcome of a signed bet. */
export type BetOutcome =
  | { name: "placed"; thesisId: number }
  | { name: "refused"; reason: unknown };

/** The reason if its deadline has passed, and the chain does not have it. */
export const EXPIRED = new RangemakerError("NOT_PLACED", "No answer came in time.");

/** A bet whose outcome has become known. */
export interface ResolvedBet {
  bet: UnresolvedBet;
  outcome: BetOutcome;
}

/** A signed bet whose outcome is not known. */
export interface UnresolvedBet extends PendingBet {
  /** An answer is overdue or was lost: the chain may have the bet already. */
  isChecking: boolean;
}

export interface BetKeeperOptions {
  client: Pick<RangemakerClient, "execute">;
  user: Address;
  pending: PendingBets;
  clock: Clock;
  /** The node's time, in which deadlines are, unless it is unset. */
  serverClock: Pick<Clock, "now"> & { isUnset?: boolean };
  /**
   * Reads the user's theses, and confirms each.
   *
   * @returns Whether {@link BetKeeper.confirm} got all that the chain had at the call.
   */
  readTheses(): Promise<boolean>;
}

/** A later answer is overdue. A maker may watch the price for seconds before it answers. */
const OVERDUE_MS = 6_000;

/** Pauses before sending again; the last one repeats. */
const RETRY_MS = [500, 1_000, 2_000, 4_000] as const;

/** A bet that was placed just before its deadline may take this long to appear. */
export const DEADLINE_MARGIN_MS = 5_000;

/** A bet is sent by the tab that stored it. Other tabs, and a page that was loaded since, wait first. */
const OTHER_TAB_MS = 8_000;

interface Run {
  bet: UnresolvedBet;
  attempts: number;
  /** Another tab knows the outcome: this tab sends nothing, and the chain shows a placed bet. */
  isResolvedElsewhere: boolean;
  cancel: CancelTimer;
  resolve(outcome: BetOutcome): void;
}

/**
 * Sends each signed bet of a user until its outcome is known. Sending is idempotent: the same quote
 * and signature return the first result. After a lost answer, the outcome follows from a success,
 * from the chain, or from a refusal that the maker has recorded. Other refusals are ignored: the
 * first attempt may have placed the bet.
 */
export class BetKeeper {
  /** Oldest first. While there are any, the user cannot get or sign another quote. */
  readonly unresolved: Signal<readonly UnresolvedBet[]> = signal([]);
  /** The last bet whose outcome has become known. */
  readonly resolved: Signal<ResolvedBet | undefined> = signal(undefined);
  readonly #options: BetKeeperOptions;
  readonly #runs = new Map<string, Run>();
  readonly #closed = new AbortController();

  constructor(options: BetKeeperOptions) {
    this.#options = options;
  }

  /** Resumes bets that were signed before a reload, or in another tab. */
  start(): void {
    const { pending, user } = this.#options;
    for (const bet of pending.readBets(user)) {
      this.#begin(bet, { isChecking: true, delayMs: OTHER_TAB_MS });
    }
    pending.onOtherTab(() => this.#sync(), this.#closed.signal);
  }

  /** Stops sending. Unresolved bets stay stored. */
  close(): void {
    this.#closed.abort();
    for (const { cancel } of this.#runs.values()) cancel();
    this.#runs.clear();
    this.unresolved.value = [];
  }

  /** Stores a signed bet and sends it. Resolves with its outcome, unless the keeper is closed. */
  send(bet: PendingBet): Promise<BetOutcome> {
    this.#options.pending.add(bet);
    return new Promise((resolve) => this.#begin(bet, { resolve }));
  }

  /** Resolves a bet that is on the chain. */
  confirm({ quoteHash, id }: Thesis): void {
    const run = this.#runs.get(quoteHash);
    if (run !== undefined) this.#resolve(run, { name: "placed", thesisId: id });
  }

  #begin(
    bet: PendingBet,
    { isChecking = false, delayMs = 0, resolve = () => {} }: {
      isChecking?: boolean;
      delayMs?: number;
      resolve?: Run["resolve"];
    },
  ): void {
    const run: Run = {
      bet: { ...bet, isChecking },
      attempts: 0,
      isResolvedElsewhere: false,
      cancel() {},
      resolve,
    };
    this.#runs.set(bet.offer.quoteHash, run);
    this.#show();
    this.#later(run, delayMs);
  }

  #later(run: Run, delayMs: number): void {
    if (delayMs === 0) return void this.#attempt(run);
    run.cancel = this.#options.clock.after(delayMs, () => {
      // The event of another tab that has ended the bet may come later than this timer.
      if (run.attempts === 0) this.#sync();
      if (!this.#isSending(run)) return;
      this.#markChecking(run); // an earlier request, or one of another tab, may still arrive
      void this.#attempt(run);
    });
  }

  async #attempt(run: Run): Promise<void> {
    if (this.#isLate(run) && await this.#expireIfUnknown(run)) return;
    if (!this.#isSending(run)) return;
    run.cancel = this.#options.clock.after(OVERDUE_MS, () => this.#markChecking(run));
    const outcome = await this.#execute(run);
    if (outcome !== undefined) return this.#resolve(run, outcome);
    if (!this.#isSending(run)) return;
    run.cancel();
    this.#markChecking(run);
    this.#later(run, RETRY_MS[Math.min(run.attempts, RETRY_MS.length - 1)]!);
    run.attempts += 1;
  }

  /** Whether its outcome is unknown here, and the keeper is not closed. */
  #isOpen(run: Run): boolean {
    return this.#runs.get(run.bet.offer.quoteHash) === run;
  }

  #isSending(run: Run): boolean {
    return this.#isOpen(run) && !run.isResolvedElsewhere;
  }

  /** Waits until the chain shows a bet that another tab has ended, or does not have it. */
  #followChain(run: Run): void {
    run.cancel = this.#options.clock.after(DEADLINE_MARGIN_MS, async () => {
      const isOver = await this.#expireIfUnknown(run);
      if (!isOver && this.#isOpen(run)) this.#followChain(run);
    });
  }

  /** Ends a bet that the chain does not have and will not get. @returns Whether it could be read. */
  async #expireIfUnknown(run: Run): Promise<boolean> {
    const areAllKnown = await this.#options.readTheses();
    if (areAllKnown) this.#resolve(run, { name: "refused", reason: EXPIRED });
    return areAllKnown;
  }

  /** Sends a bet. @returns Undefined if its outcome is unknown. */
  #execute(run: Run): Promise<BetOutcome | undefined> {
    const { client, clock } = this.#options;
    const { offer, signature } = run.bet;
    // In doubt since an earlier request, which may have placed the bet. Within this request, doubt
    // comes only from another tab, which sends after OTHER_TAB_MS.
    const isRepeated = run.bet.isChecking;
    const sentAtMs = clock.now();
    let isLate = false; // a hidden tab may run its timer late, and the clock may be set back
    const cancel = clock.after(OTHER_TAB_MS, () => isLate = true);
    const mayBePlaced = () =>
      isRepeated || run.isResolvedElsewhere || isLate || clock.now() - sentAtMs >= OTHER_TAB_MS;
    return client.execute(offer, signature).finally(cancel).then(
      ({ thesisId }): BetOutcome => ({ name: "placed", thesisId }),
      (reason: unknown): BetOutcome | undefined =>
        isOutcomeUnknown(reason) || mayBePlaced() && !isUsedUp(reason)
          ? undefined
          : { name: "refused", reason },
    );
  }

  /** Whether a bet that is not on the chain now will not be placed any more. */
  #isLate({ bet: { offer: { quote } } }: Run): boolean {
    const { serverClock } = this.#options;
    return serverClock.now() >= quote.deadline + DEADLINE_MARGIN_MS && !serverClock.isUnset;
  }

  #markChecking(run: Run): void {
    if (run.bet.isChecking) return;
    run.bet = { ...run.bet, isChecking: true };
    this.#show();
  }

  /** Follows what another tab has stored or resolved. */
  #sync(): void {
    const { pending, user } = this.#options;
    const stored = pending.readBets(user);
    for (const bet of stored) {
      if (!this.#runs.has(bet.offer.quoteHash)) this.#begin(bet, { delayMs: OTHER_TAB_MS });
    }
    for (const [quoteHash, run] of this.#runs) {
      if (run.isResolvedElsewhere || stored.some(({ offer }) => offer.quoteHash === quoteHash)) {
        continue;
      }
      run.isResolvedElsewhere = true;
      run.cancel();
      this.#followChain(run);
    }
  }

  /** Ends a bet, unless it has ended. */
  #resolve(run: Run, outcome: BetOutcome): void {
    const { quoteHash } = run.bet.offer;
    if (!this.#isOpen(run)) return;
    run.cancel();
    this.#runs.delete(quoteHash);
    this.#options.pending.remove(quoteHash);
    this.#show();
    run.resolve(outcome);
    // The other tab has shown the reason: the price moved, for example, and another bet was placed.
    if (run.isResolvedElsewhere && outcome.name === "refused") return;
    this.resolved.value = { bet: run.bet, outcome };
  }

  #show(): void {
    this.unresolved.value = [...this.#runs.values()].map(({ bet }) => bet);
  }
}

/** Whether a refusal says that the quote never becomes a bet, whatever other requests for it arrive. */
function isUsedUp(reason: unknown): boolean {
  return isRangemakerError(reason) && reason.details.usedUp === true;
}
