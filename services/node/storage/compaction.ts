import { messageOf } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { DataDir } from "./data_dir.ts";

/** A journal below this size is not rewritten: it is read in a few seconds. */
export const REWRITE_BYTES_MIN = 64 * 1024 * 1024;

/**
 * Newer records stay in the journal and in memory. It has to be more than twice the 60 s by which the
 * timestamp of a transaction may differ from the clock, so that no dropped one is accepted again.
 */
export const KEEP_MS = 600_000;

/** Waits after failed rewrites: doubled from the first to the last. */
const RETRY_MS_MIN = 60_000;
const RETRY_MS_MAX = 3_600_000;

/** A rewrite works for this long before it yields to everything else. */
const SLICE_MS = 2;
const PAUSE_MS = 4;

/** Options of {@link Compaction}. */
export interface CompactionOptions {
  /** How long settled theses and receipts can be read, in milliseconds. */
  retainMs: number;
  rewriteBytesMin?: number | undefined;
}

/** Rewrites the journal whenever it has doubled, and deletes archived rows that are too old. */
export class Compaction {
  readonly #directory: DataDir;
  readonly #options: CompactionOptions;
  readonly #log = serviceLog("node");
  /** Length of the journal after the last rewrite. */
  #rewrittenBytes = 0;
  #running: Promise<void> | undefined;
  #isStopping = false;
  #retryAtMs = 0;
  #retryMs = RETRY_MS_MIN;

  constructor(directory: DataDir, options: CompactionOptions) {
    this.#directory = directory;
    this.#options = options;
  }

  /** Starts due work. Has to be called about once a second. */
  check(nowMs: number): void {
    const { rewriteBytesMin = REWRITE_BYTES_MIN, retainMs } = this.#options;
    if (this.#running !== undefined || this.#isStopping || nowMs < this.#retryAtMs) return;
    try {
      this.#directory.archive.dropBefore(nowMs - retainMs);
    } catch (thrown) {
      return this.#failed(thrown, nowMs);
    }
    const dueBytes = Math.max(rewriteBytesMin, 2 * this.#rewrittenBytes);
    if (this.#directory.journal.bytes < dueBytes) return;
    this.#running = this.#rewrite(nowMs).finally(() => this.#running = undefined);
  }

  /** Resolves when no rewrite is in progress; an unfinished one is abandoned. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
  }

  async #rewrite(nowMs: number): Promise<void> {
    const { journal } = this.#directory;
    const { bytes } = journal;
    try {
      await this.#directory.rewrite(nowMs - KEEP_MS, {
        sliceMs: SLICE_MS,
        nextTurn: () => this.#nextTurn(),
      });
      this.#rewrittenBytes = journal.bytes;
      this.#retryMs = RETRY_MS_MIN;
      const sizes = { before: bytes, after: journal.bytes };
      this.#log.info("Rewrote the journal: {before} bytes became {after}", sizes);
    } catch (thrown) {
      if (!this.#isStopping) this.#failed(thrown, nowMs);
    }
  }

  #failed(thrown: unknown, nowMs: number): void {
    this.#log.warning("The journal cannot be made shorter: {reason}; next attempt in {waitMs} ms", {
      reason: messageOf(thrown),
      waitMs: this.#retryMs,
    });
    this.#retryAtMs = nowMs + this.#retryMs;
    this.#retryMs = Math.min(RETRY_MS_MAX, 2 * this.#retryMs);
  }

  async #nextTurn(): Promise<void> {
    if (this.#isStopping) throw new Error("The node stops");
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
