import type { Clock } from "../../../lib/clock.ts";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { ProblemTracker } from "../../../lib/log/problem_tracker.ts";
import type { ChainGuard } from "../../../lib/intents/chain_guard.ts";
import { StoreDamagedError } from "../../../lib/intents/errors.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import type { ReservationTable } from "../../../lib/intents/reservation_table.ts";
import type { IntentStore } from "../../../lib/intents/store.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { isUnsettled, type Thesis } from "../../../lib/protocol/thesis.ts";
import type { ExposureBook } from "../risk/exposure_book.ts";
import { solverLog } from "../shared/solver_log.ts";
import { checkThesis } from "./execution.ts";

export interface ReservationReleaserOptions {
  store: Pick<IntentStore, "find" | "release">;
  reservations: Pick<ReservationTable, "refresh">;
  book: ExposureBook;
  node: Pick<CoreClient, "getThesis" | "getTheses">;
  /** Throws unless the node has the store's chain: on another, all theses would be missing. */
  guard: Pick<ChainGuard, "requireChain">;
  clock: Clock;
  /** A bet was settled. Called once per bet, in exactly one process. */
  onSettled?(thesis: Thesis): void;
}

/** Releases the reservations of settled bets in database and book, and reports their settlement. */
export class ReservationReleaser {
  readonly #options: ReservationReleaserOptions;
  readonly #log = serviceLog("solver");
  readonly #keptLog = new ProblemTracker();

  constructor(options: ReservationReleaserOptions) {
    this.#options = options;
  }

  /** Called when an execution has ended. If it failed, the store has released its reservation. */
  onExecutionFinished({ key, state }: Intent): void {
    const { book } = this.#options;
    if (state === "failed") book.release(key);
    // A bet may be settled before its receipt is read, but cannot be released before that.
    const thesis = book.thesisOf(key);
    if (thesis !== undefined) void this.onThesisChanged(thesis);
  }

  /** Called when a thesis changes: releases a settled one. {@link reconcile} retries failures. */
  async onThesisChanged(thesis: Thesis): Promise<void> {
    if (isUnsettled(thesis.status)) return;
    const { quoteHash } = thesis;
    await this.#logFailure(() => this.#release(quoteHash, thesis), { quoteHash });
  }

  /**
   * Makes the book count exactly the reservations in the database, and releases reservations of
   * theses that settled while no solver was connected. It asks the node for each thesis: one that
   * is missing from a list may be unknown only to a node that lags.
   *
   * @returns How many this process released.
   * @throws {RangemakerError} If the store or the node cannot be used.
   */
  async reconcile(signal?: AbortSignal): Promise<number> {
    const { reservations, book, node, guard, clock } = this.#options;
    await reservations.refresh();
    if (!book.isComplete) return 0;
    await guard.requireChain();
    let released = 0;
    for (const quoteHash of book.reservedKeys) {
      if (signal?.aborted) break;
      const known = book.thesisOf(quoteHash);
      if (known !== undefined && isUnsettled(known.status)) continue;
      const intent = await this.#find(quoteHash);
      if (intent?.state !== "committed") continue;
      const { outcome, thesis } = await checkThesis(node, intent, clock.now());
      if (outcome === "missing" || (thesis && isUnsettled(thesis.status))) continue;
      if (await this.#release(quoteHash, thesis)) released += 1;
      else book.release(quoteHash);
    }
    return released;
  }

  /** Reconciles. A failure is logged once until it changes or ends; the next pass tries again. */
  async reconcileOrLog(signal: AbortSignal): Promise<void> {
    const reconcile = async () => {
      await this.reconcile(signal);
      this.#keptLog.end();
    };
    await this.#logFailure(reconcile, {}, signal);
  }

  /**
   * A process that dies after the release reports no settlement.
   *
   * @returns Whether this process released it: only one of several processes does.
   */
  async #release(quoteHash: string, thesis: Thesis | undefined): Promise<boolean> {
    const { store, book, onSettled } = this.#options;
    if (!await store.release(quoteHash)) return false;
    book.release(quoteHash);
    if (thesis === undefined) return true;
    solverLog.settled(thesis);
    onSettled?.(thesis);
    return true;
  }

  async #logFailure(
    work: () => Promise<unknown>,
    about: { quoteHash?: string },
    signal?: AbortSignal,
  ): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      if (signal?.aborted || !this.#keptLog.begin(thrown.code)) return;
      this.#log.warn("Reservations cannot be released yet: {reason}", {
        event: "reservations_kept",
        ...about,
        reason: messageOf(thrown),
      });
    }
  }

  /** Undefined for a damaged row, which the store reports, so that others can still be released. */
  async #find(quoteHash: string): Promise<Intent | undefined> {
    try {
      return await this.#options.store.find(quoteHash);
    } catch (thrown) {
      if (thrown instanceof StoreDamagedError) return undefined;
      throw thrown;
    }
  }
}
