import type { Clock, RandomSource } from "../../../lib/clock.ts";
import { Backoff, SERVICE_WAIT_MAX_MS } from "../../../lib/net/backoff.ts";
import type { CoreClient } from "../../../lib/net/core_client.ts";
import { pagesOf } from "../../../lib/net/pages.ts";
import { PollingLoop } from "../../../lib/net/polling_loop.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { ExposureBook } from "./exposure_book.ts";

/** Waits after reads that failed. */
const RETRY = { initialMs: 1_000, maxMs: SERVICE_WAIT_MAX_MS };

/**
 * Everything is read again at this interval in spite of the feed: a proxy in between can lose
 * notifications of its node without notice.
 */
const REFRESH_MS = 30_000;

/** Theses in one answer of the node: its own limit. */
const PAGE = 1_000;

/** Dependencies of an {@link ExposureReader}. */
export interface ExposureReaderOptions {
  book: ExposureBook;
  node: Pick<CoreClient, "getTheses">;
  solver: Address;
  clock: Clock;
  /** Jitter of the waits after reads that failed. */
  random: RandomSource;
  /** Called after each reading: theses may have settled unseen. Throws if that has to be retried. */
  reconcile?(signal: AbortSignal): Promise<unknown>;
}

/** Reads all open theses of the solver into an {@link ExposureBook}, after each connection and at intervals. */
export class ExposureReader {
  readonly #options: ExposureReaderOptions;
  readonly #log = serviceLog("solver");
  readonly #loop: PollingLoop;

  constructor(options: ExposureReaderOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#loop = new PollingLoop({
      clock,
      intervalMs: REFRESH_MS,
      backoff: new Backoff({ ...RETRY, random }),
      poll: (signal) => this.#read(signal),
      onFailure: ({ message }) =>
        this.#log.warn("Exposure cannot be brought up to date: {reason}", { reason: message }),
    });
  }

  /** The feed is connected: reads everything now, and again at intervals. */
  connected(): void {
    this.#loop.start();
  }

  /** The connection is lost: a read in flight no longer counts. */
  lost(): void {
    this.#loop.pause();
    this.#options.book.invalidate();
  }

  /** Stops reading; resolves when no request is in flight. */
  async stop(): Promise<void> {
    this.lost();
    await this.#loop.stop();
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { book, reconcile } = this.#options;
    book.beginReading();
    const theses = await this.#allOpen();
    if (signal.aborted) return;
    book.endReading(theses);
    await reconcile?.(signal);
  }

  async #allOpen(): Promise<Thesis[]> {
    const { node, solver } = this.#options;
    const theses: Thesis[] = [];
    // In this order, a thesis that changes its state between the two reads is not missed.
    for (const status of ["open", "needs_backfill"] as const) {
      const read = (cursor?: string) => node.getTheses({ solver, status, limit: PAGE, cursor });
      for await (const page of pagesOf(read)) theses.push(...page.theses);
    }
    return theses;
  }
}
