import { getLogger } from "@logtape/logtape";
import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import type { ExposureBook } from "./exposure_book.ts";

/** Wait before a failed read is retried. */
const RETRY_MS = 1_000;

/** Everything is read again this often: a proxy can lose notifications without its clients noticing. */
const REFRESH_MS = 30_000;

/** Theses per page: the limit of the node. */
const PAGE = 1_000;

/** What an {@link ExposureReader} works with. */
export interface ExposureReaderOptions {
  book: ExposureBook;
  node: Pick<CoreClient, "getTheses">;
  solver: Address;
  clock: Clock;
}

/** Reads all open theses of the solver into an {@link ExposureBook} after each connection. */
export class ExposureReader {
  readonly #options: ExposureReaderOptions;
  readonly #log = getLogger([LOG_ROOT, "solver"]);
  #cancel: CancelTimer = () => {};
  #reading: Promise<void> = Promise.resolve();
  /** Whether this outage is logged already. */
  #failureLogged = false;
  /** Number of the connection: a read that began over an earlier one is discarded. */
  #epoch = 0;

  constructor(options: ExposureReaderOptions) {
    this.#options = options;
  }

  /** Connected: reads everything now, and again from time to time. */
  connected(): void {
    this.#cancel();
    this.#epoch += 1;
    this.#begin(this.#epoch);
  }

  /** Disconnected. */
  lost(): void {
    this.#cancel();
    this.#epoch += 1;
    this.#options.book.invalidate();
  }

  /** Stops reading; resolves when no read is running. */
  async stop(): Promise<void> {
    this.lost();
    await this.#reading;
  }

  #begin(epoch: number): void {
    this.#reading = Promise.all([this.#reading, this.#read(epoch)]).then(() => {});
  }

  async #read(epoch: number): Promise<void> {
    const { book, clock } = this.#options;
    book.beginReading();
    const theses = await this.#allOpen();
    if (epoch !== this.#epoch) return;
    if (theses !== undefined) book.endReading(theses);
    const delayMs = theses === undefined ? RETRY_MS : REFRESH_MS;
    this.#cancel = clock.after(delayMs, () => this.#begin(epoch));
  }

  /** Every open thesis, or undefined if they cannot be read. */
  async #allOpen(): Promise<Thesis[] | undefined> {
    const { node, solver } = this.#options;
    const theses: Thesis[] = [];
    try {
      // In this order: a thesis that changes from open to needs_backfill meanwhile is in one list at least.
      for (const status of ["open", "needs_backfill"] as const) {
        let cursor: string | undefined;
        do {
          const page = await node.getTheses({
            solver,
            status,
            limit: PAGE,
            ...(cursor !== undefined && { cursor }),
          });
          theses.push(...page.theses);
          cursor = page.nextCursor ?? undefined;
        } while (cursor !== undefined);
      }
      this.#failureLogged = false;
      return theses;
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      if (!this.#failureLogged) {
        this.#log.warn("Open theses cannot be read: {reason}", { reason: messageOf(thrown) });
      }
      this.#failureLogged = true;
      return undefined;
    }
  }
}
