import type { Clock } from "../../../lib/clock.ts";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { type Intent, StoreDamagedError } from "../../../lib/intents/intent.ts";
import type { IntentStore } from "../../../lib/intents/store.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { RECEIPTS_KEPT_MS_MIN } from "../../../lib/protocol/constants.ts";
import { isUnsettled, type Thesis } from "../../../lib/protocol/thesis.ts";
import type { ExposureBook } from "../risk/exposure_book.ts";
import { executionLog } from "../execution_log.ts";
import { committedThesis, decodeExecution } from "./execution.ts";

export interface ReservationsOptions {
  store: Pick<IntentStore, "find" | "refreshReservations" | "release">;
  book: ExposureBook;
  node: Pick<CoreClient, "getThesis">;
  /** Throws unless the node has the chain of the store: another chain has none of its theses. */
  requireChain(): Promise<void>;
  clock: Clock;
  /** A bet with a known probability was settled. Called once per bet, in one of all processes. */
  onOutcome?(probability: number, thesis: Thesis): void;
}

/** Releases the reservations of bets that can no longer be lost, in the database and in the book. */
export class Reservations {
  readonly #options: ReservationsOptions;
  readonly #log = serviceLog("solver");

  constructor(options: ReservationsOptions) {
    this.#options = options;
  }

  /** An execution has ended. The store has released the reservation of one that failed. */
  onExecutionFinished({ key, state }: Intent): void {
    const { book } = this.#options;
    if (state === "failed") book.release(key);
    // A bet can be settled before its receipt is read; until then it could not be released.
    const thesis = book.thesisOf(key);
    if (thesis !== undefined) void this.onThesisChanged(thesis);
  }

  /** A thesis changed its state: releases it if it is settled. {@link reconcile} retries a failure. */
  async onThesisChanged(thesis: Thesis): Promise<void> {
    if (isUnsettled(thesis.status)) return;
    const { quoteHash } = thesis;
    await this.#orLog(() => this.#release(quoteHash, thesis), { quoteHash });
  }

  /**
   * Makes the book count exactly the reservations in the database, and releases those of theses that
   * settled while no solver was connected. The node is asked for each one: a thesis that is missing from
   * a list may only be missing from a node that lags.
   *
   * @returns How many it released.
   * @throws {RangemakerError} If the store or the node cannot be used.
   */
  async reconcile(signal?: AbortSignal): Promise<number> {
    const { store, book, requireChain } = this.#options;
    await store.refreshReservations(book);
    if (!book.complete) return 0;
    await requireChain();
    let released = 0;
    for (const quoteHash of book.reservedKeys) {
      if (signal?.aborted) break;
      if (isOpen(book.thesisOf(quoteHash))) continue;
      const intent = await this.#find(quoteHash);
      if (intent?.state !== "committed") continue;
      const thesis = await this.#readThesis(intent);
      if (thesis === undefined ? !this.#isForgotten(intent) : isOpen(thesis)) continue;
      if (await this.#release(quoteHash, thesis)) released += 1;
      book.release(quoteHash);
    }
    return released;
  }

  /** Reconciles; a failure is logged, and the next pass tries again. */
  async reconcileOrLog(signal: AbortSignal): Promise<void> {
    await this.#orLog(() => this.reconcile(signal), {}, signal);
  }

  /** @returns Whether this process released it: of those that see a result, only one does. */
  async #release(quoteHash: string, thesis: Thesis | undefined): Promise<boolean> {
    const { store, onOutcome } = this.#options;
    if (!await store.release(quoteHash)) return false;
    if (thesis === undefined) return true;
    executionLog.settled(thesis);
    const intent = await this.#find(quoteHash);
    const probability = intent && decodeExecution(intent.payload).probability;
    if (probability !== undefined) onOutcome?.(probability, thesis);
    return true;
  }

  async #orLog(
    work: () => Promise<unknown>,
    about: { quoteHash?: string },
    signal?: AbortSignal,
  ): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      if (signal?.aborted) return;
      this.#log.warn("Reservations cannot be released yet: {reason}", {
        event: "reservations_kept",
        ...about,
        reason: messageOf(thrown),
      });
    }
  }

  /** A damaged row is reported by the store, and must not keep the others from being released. */
  async #find(quoteHash: string): Promise<Intent | undefined> {
    try {
      return await this.#options.store.find(quoteHash);
    } catch (thrown) {
      if (thrown instanceof StoreDamagedError) return undefined;
      throw thrown;
    }
  }

  /** The thesis of a committed intent; undefined if the node has none. */
  async #readThesis(intent: Intent): Promise<Thesis | undefined> {
    const thesis = await committedThesis(this.#options.node, intent);
    return thesis?.quoteHash === intent.key ? thesis : undefined;
  }

  /** A thesis that the node does not have so long after its end was dropped. */
  #isForgotten({ payload }: Intent): boolean {
    const { endTime } = decodeExecution(payload).quote;
    return this.#options.clock.now() > endTime + RECEIPTS_KEPT_MS_MIN;
  }
}

function isOpen(thesis: Thesis | undefined): boolean {
  return thesis !== undefined && isUnsettled(thesis.status);
}
