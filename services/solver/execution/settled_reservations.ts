import type { Clock } from "../../../lib/clock.ts";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/http/logging.ts";
import type { Intent } from "../../../lib/intents/intent.ts";
import type { IntentStore } from "../../../lib/intents/store.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import { isUnsettled, type Thesis, type ThesisStatus } from "../../../lib/protocol/thesis.ts";
import type { ExposureBook } from "../risk/exposure_book.ts";
import { businessLog } from "../business_log.ts";
import { decodeExecution } from "./execution.ts";

/** Reservations per page. */
const PAGE = 500;

/**
 * A thesis that the node does not have this long after its end was dropped: nodes keep settled theses
 * for a limited time.
 */
const UNKNOWN_AFTER_END_MS = 600_000;

/** Dependencies of {@link SettledReservations}. */
export interface SettledReservationsOptions {
  store: Pick<IntentStore, "find" | "listReserved" | "release">;
  book: Pick<ExposureBook, "complete" | "isOpen">;
  node: Pick<CoreClient, "getThesis">;
  /** Throws unless the node has the chain of the store: another chain has none of its theses. */
  requireChain(): Promise<void>;
  clock: Clock;
  /** A bet with a known probability was settled. Called once per bet, in one of all processes. */
  onOutcome?(probability: number, status: ThesisStatus): void;
}

/** Releases the reservations of theses that have settled. */
export class SettledReservations {
  readonly #options: SettledReservationsOptions;
  readonly #log = serviceLog("solver");

  constructor(options: SettledReservationsOptions) {
    this.#options = options;
  }

  /** A thesis changed its state. {@link reconcile} retries a release that fails. */
  async apply(thesis: Thesis): Promise<void> {
    const { quoteHash, status } = thesis;
    if (isUnsettled(status)) return;
    try {
      // Only one of the processes that see the result releases the reservation.
      if (!await this.#options.store.release(quoteHash)) return;
      businessLog.settled(thesis);
      this.#report(thesis, await this.#options.store.find(quoteHash));
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      this.#log.warn("Reservation of {quoteHash} cannot be released yet: {reason}", {
        quoteHash,
        reason: messageOf(thrown),
      });
    }
  }

  /**
   * Releases the reservations of theses that settled while no solver was connected. The node is asked
   * for each one: a thesis that is missing from a list may only be missing from a node that lags.
   *
   * @returns How many it released.
   * @throws {RangemakerError} If the store or the node cannot be used.
   */
  async reconcile(): Promise<number> {
    const { store, book, requireChain } = this.#options;
    if (!book.complete) return 0;
    await requireChain();
    let released = 0;
    let after = 0;
    let page: Intent[];
    do {
      page = await store.listReserved({ limit: PAGE, after });
      for (const intent of page) {
        if (intent.state !== "committed" || book.isOpen(intent.key)) continue;
        const thesis = await this.#thesisOf(intent);
        const isOver = thesis === undefined
          ? this.#isForgotten(intent)
          : !isUnsettled(thesis.status);
        if (!isOver || !await store.release(intent.key)) continue;
        released += 1;
        if (thesis === undefined) continue;
        businessLog.settled(thesis);
        this.#report(thesis, intent);
      }
      after = page.at(-1)?.sequence ?? after;
    } while (page.length === PAGE);
    return released;
  }

  #report({ status }: Thesis, intent: Intent | undefined): void {
    if (intent === undefined) return;
    const { probability } = decodeExecution(intent.payload);
    if (probability !== undefined) this.#options.onOutcome?.(probability, status);
  }

  /** The thesis of a committed intent; undefined if the node has none. */
  async #thesisOf({ key, receipt }: Intent): Promise<Thesis | undefined> {
    const { thesisId } = receiptSchema.parse(JSON.parse(receipt ?? "null"));
    const thesis = thesisId === undefined ? null : await this.#options.node.getThesis(thesisId);
    return thesis?.quoteHash === key ? thesis : undefined;
  }

  #isForgotten({ payload }: Intent): boolean {
    const { endTime } = decodeExecution(payload).quote;
    return this.#options.clock.now() > endTime + UNKNOWN_AFTER_END_MS;
  }
}
