import { setImmediate } from "node:timers";
import { messageOf } from "../../../lib/errors.ts";
import { type Database, StorageError } from "./database.ts";

/** How long a change waits for others at most, so that one flush to the disk serves all of them. */
const COMMIT_DELAY_MAX_MS = 25;

/** Callbacks of a {@link GroupCommit} to its owner. */
interface CommitHooks {
  /** Called before each commit, to write what is only in memory. */
  write(): void;
  /**
   * Called when everything is on the disk, before the effects, to which it may add.
   *
   * @throws {StorageError} If the commit must not count as stored.
   */
  onCommitted(): void;
  /** Called after the database was rolled back. */
  onRolledBack(): void;
}

/**
 * Collects the changes of a turn of the event loop, and of the next few turns if more follow, in
 * one transaction. No change is answered before it is committed.
 */
export class GroupCommit {
  readonly #db: Database;
  readonly #isDurable: boolean;
  readonly #hooks: CommitHooks;
  #isOpen = false;
  #openedAtMs = 0;
  #changes = 0;
  #effects: (() => void)[] = [];
  #waiting: PromiseWithResolvers<void> | undefined;
  #failure: StorageError | undefined;

  /**
   * @param isDurable If false, one transaction never ends, and every change is committed at once.
   */
  constructor(db: Database, isDurable: boolean, hooks: CommitHooks) {
    this.#db = db;
    this.#isDurable = isDurable;
    this.#hooks = hooks;
  }

  /** Why nothing can be written; undefined while writing works. */
  get failure(): StorageError | undefined {
    return this.#failure;
  }

  /**
   * Makes all changes of `run`, or none.
   *
   * @throws {StorageError} If they cannot be stored.
   * @throws Any error of `run`.
   */
  change<T>(run: () => T): T {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      this.#begin();
      return run();
    } catch (thrown) {
      if (thrown instanceof StorageError) this.#failure = thrown;
      const rolledBack = `Another change in the same transaction failed: ${messageOf(thrown)}`;
      this.#rollBack(this.#failure ?? new StorageError(rolledBack, { cause: thrown }));
      throw thrown;
    }
  }

  /** Makes all changes of `run`, or none. A failure to store is not thrown: see {@link failure}. */
  tryChange(run: () => void): void {
    try {
      this.change(run);
    } catch (thrown) {
      if (this.#failure === undefined) throw thrown;
    }
  }

  /** Runs an effect after the open transaction has been committed; a rollback drops it. */
  afterCommit(effect: () => void): void {
    if (this.#isOpen && this.#isDurable) this.#effects.push(effect);
    else effect();
  }

  /** Resolves when all changes made so far are committed. @throws {StorageError} If that failed. */
  async whenCommitted(): Promise<void> {
    if (!this.#isOpen || !this.#isDurable) return;
    await (this.#waiting ??= Promise.withResolvers()).promise;
  }

  /** Commits now. Does not throw: a failure rejects {@link whenCommitted}. */
  commit(): void {
    if (!this.#isOpen) return;
    try {
      this.#write();
    } catch (thrown) {
      return this.fail(thrown);
    }
    this.#finish();
  }

  /** After a failure, finds out whether writing works again. */
  retry(change: () => void): void {
    if (this.#failure === undefined || this.#failure.isFinal) return;
    try {
      this.#begin();
      change();
      this.#write();
    } catch (thrown) {
      this.#failure = asStorageError(thrown);
      this.#db.rollBack();
      this.#close();
      return;
    }
    this.#failure = undefined;
    this.#finish();
  }

  /** Stops all writing until a {@link retry}; for good if the failure is final. */
  fail(thrown: unknown): void {
    const failure = this.#failure = asStorageError(thrown);
    if (this.#isOpen) this.#rollBack(failure);
  }

  #begin(): void {
    this.#changes += 1;
    if (this.#isOpen) return this.#requireTransaction();
    if (this.#isDurable) this.#db.exec("BEGIN IMMEDIATE");
    this.#isOpen = true;
    this.#openedAtMs = performance.now();
    this.#commitLater();
  }

  /** Not in the next turn of the event loop: the queue starts its next task only after it. */
  #commitLater(changesSeen?: number): void {
    setImmediate(() => {
      if (!this.#isOpen) return;
      const isQuiet = changesSeen === this.#changes;
      if (isQuiet || performance.now() - this.#openedAtMs > COMMIT_DELAY_MAX_MS) this.commit();
      else this.#commitLater(this.#changes);
    });
  }

  /** Without its transaction, each further row would be stored at once, and those before it not. */
  #requireTransaction(): void {
    if (!this.#isDurable || this.#db.isTransaction) return;
    throw new StorageError("The chain cannot be read: SQLite has undone the open changes");
  }

  #write(): void {
    this.#requireTransaction();
    this.#hooks.write();
    if (this.#isDurable) this.#db.exec("COMMIT");
    this.#hooks.onCommitted();
  }

  #finish(): void {
    const { effects, waiting } = this.#close();
    waiting?.resolve();
    for (const effect of effects) effect();
  }

  #rollBack(failure: StorageError): void {
    const { waiting } = this.#close();
    try {
      if (!this.#isDurable) throw failure;
      this.#db.rollBack();
      this.#hooks.onRolledBack();
    } catch (thrown) {
      // The state in memory cannot be reset to the stored one, so it cannot be used any more.
      this.#failure = new StorageError(messageOf(thrown), { cause: thrown, isFinal: true });
    }
    waiting?.reject(failure);
  }

  /** @returns What to run and whom to answer now. */
  #close() {
    const closed = { effects: this.#effects, waiting: this.#waiting };
    this.#isOpen = false;
    this.#effects = [];
    this.#waiting = undefined;
    return closed;
  }
}

function asStorageError(thrown: unknown): StorageError {
  if (thrown instanceof StorageError) return thrown;
  return new StorageError(`The chain cannot be written: ${messageOf(thrown)}`, { cause: thrown });
}
