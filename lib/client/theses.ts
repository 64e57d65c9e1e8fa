import { Backoff } from "../timing/backoff.ts";
import { type CoreReader, readPages, type ThesisFilter } from "../net/core_reader.ts";
import { createSubscription, RpcSubscriber } from "../net/rpc_subscriber.ts";
import type { Address } from "../protocol/scalars.ts";
import { isUnsettled, type Thesis, thesisSchema } from "../protocol/thesis.ts";
import type { WatchContext } from "./context.ts";
import { WatchError } from "./errors.ts";
import { requireTimeout } from "./input.ts";
import { KnownTheses } from "./known_theses.ts";

/**
 * `connecting`: what is known may be out of date. `live`: changes arrive as they happen, unless the
 * proxy has lost its node, which {@link ThesisWatch.refresh} shows.
 */
export type WatchState = "connecting" | "live" | "closed";

/** Callbacks of a {@link ThesisWatch}; they must not throw. */
export interface WatchHandlers {
  /** Called with each existing thesis first, then with each new one and each change of status. */
  onThesis?(thesis: Thesis): void;
  /** The watch became live, or lost its connection, with the `reason`; it reconnects by itself. */
  onState?(state: WatchState, reason?: string): void;
}

/** The party whose theses are watched: a user or a solver. */
export type ThesisParty = { user: Address } | { solver: Address };

/** The parts that a {@link ThesisWatch} needs; `node` reads the changes made while disconnected. */
type ThesisWatchContext = WatchContext & {
  readonly node: Pick<CoreReader, "getThesis" | "getTheses">;
};

const THESES_RECONNECT = { initialMs: 100, maxMs: 10_000 };

/** Theses change rarely, so a request at intervals, not silence, shows a dead connection. */
const HEARTBEAT = { everyMs: 20_000, answerMs: 10_000 };

const THESES_PER_PAGE = 100;

/** A caller that waits for a thesis or for the connection. */
interface Waiter {
  /** Called after each change; resolves the wait if it is over. */
  readonly notify: (changed?: Thesis) => void;
  readonly reject: (reason: WatchError) => void;
}

/**
 * The theses of one party as they change. After each loss of the connection it subscribes again and
 * reads what it may have missed, so that no outcome is lost. Made by `RangemakerClient.watch`.
 */
export class ThesisWatch {
  readonly #context: ThesisWatchContext;
  readonly #handlers: WatchHandlers;
  readonly #party: ThesisParty;
  readonly #subscriber: RpcSubscriber;
  readonly #known = new KnownTheses();
  /** Id of the chain's newest thesis at the last read; undefined if the node does not report it. */
  #newestReadId: number | undefined;
  readonly #waiters = new Set<Waiter>();
  #state: WatchState = "connecting";
  #lastFailure = "no answer";
  /** The most pages that were read at once: what is read again after a loss is no progress. */
  #mostPages = 0;
  readonly #closed = new AbortController();

  constructor(context: ThesisWatchContext, handlers: WatchHandlers, party: ThesisParty) {
    const { urls, clock, random, connect } = context;
    const backoff = () => new Backoff({ ...THESES_RECONNECT, random });
    this.#context = context;
    this.#handlers = handlers;
    this.#party = party;
    this.#subscriber = new RpcSubscriber({
      url: urls.proxyWs,
      clock,
      connect,
      backoff: backoff(),
      heartbeat: HEARTBEAT,
      subscriptions: [
        createSubscription(
          ["theses", party],
          thesisSchema,
          (thesis) => this.#onNotification(thesis),
        ),
      ],
      catchUp: {
        read: (signal) => this.#read(signal),
        backoff: backoff(),
        onFailure: ({ message }) => this.#lastFailure = message,
      },
      onLive: () => {
        this.#setState("live");
        for (const waiter of this.#waiters) waiter.notify();
      },
      onLost: (reason) => {
        this.#lastFailure = reason;
        this.#setState("connecting", reason);
      },
    });
  }

  /** Whether changes arrive now; `closed` after {@link close}. */
  get state(): WatchState {
    return this.#state;
  }

  /** All unsettled and at least the newest 10,000 settled theses as they are now, oldest first. */
  get theses(): Thesis[] {
    return this.#known.list();
  }

  /**
   * Connects; resolves when the watch is live for the first time.
   *
   * @throws {WatchError} `NOT_CONNECTED` after `timeoutMs` without another page of theses, with the
   *   reason; the watch goes on.
   */
  async open(timeoutMs: number): Promise<void> {
    this.#subscriber.start();
    const pagesBefore = this.#mostPages;
    try {
      await this.#wait(() => this.#state === "live" || undefined, timeoutMs, () => {
        const { proxyWs } = this.#context.urls;
        const message =
          `No subscription at ${proxyWs} within ${timeoutMs} ms: ${this.#lastFailure}`;
        return new WatchError("NOT_CONNECTED", message, { timeoutMs });
      });
    } catch (thrown) {
      // A long chain takes long to read: a page has the matches of 1,000 theses.
      if (this.#state === "closed" || this.#mostPages === pagesBefore) throw thrown;
      await this.open(timeoutMs);
    }
  }

  /**
   * The first matching thesis, known already or reported later.
   *
   * @throws {WatchError} `WATCH_TIMEOUT` after `timeoutMs`; `WATCH_CLOSED` once it is closed.
   * @example
   * ```ts
   * const next = await watch.until(({ status }) => status === "won", 60_000);
   * ```
   */
  async until(matches: (thesis: Thesis) => boolean, timeoutMs: number): Promise<Thesis> {
    requireTimeout(timeoutMs);
    if (this.#state === "closed") throw closedError();
    return this.theses.find(matches) ?? await this.#wait(
      (changed) => changed && matches(changed) ? changed : undefined,
      timeoutMs,
      () => {
        return new WatchError("WATCH_TIMEOUT", `No thesis matched within ${timeoutMs} ms`, {
          timeoutMs,
        });
      },
    );
  }

  #wait<T>(
    find: (changed?: Thesis) => T | undefined,
    timeoutMs: number,
    timeoutError: () => WatchError,
  ): Promise<T> {
    const found = find();
    if (found !== undefined) return Promise.resolve(found);
    return new Promise<T>((resolve, reject) => {
      const end = () => {
        cancel();
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        notify(changed) {
          const found = find(changed);
          if (found === undefined) return;
          end();
          resolve(found);
        },
        reject: (reason) => (end(), reject(reason)),
      };
      const cancel = this.#context.clock.after(timeoutMs, () => waiter.reject(timeoutError()));
      this.#waiters.add(waiter);
    });
  }

  /**
   * Reads what has changed and reports it, as the watch does every 30 seconds by itself. What the
   * chain has when this is called is known when it resolves, even if notifications were lost.
   *
   * @throws {NetworkError} If no answer came; an `RpcError` if the proxy has lost its node.
   * @throws {WatchError} `WATCH_CLOSED` once it is closed.
   * @example
   * ```ts
   * await watch.refresh();
   * const isPlaced = watch.theses.some(({ quoteHash }) => quoteHash === offer.quoteHash);
   * ```
   */
  async refresh(): Promise<void> {
    const { signal } = this.#closed;
    if (!signal.aborted) await this.#read(signal);
    if (signal.aborted) throw closedError();
  }

  /**
   * Ends the watch for good; pending calls of {@link until} fail.
   *
   * @example
   * ```ts
   * watch.close();
   * ```
   */
  close(): void {
    void this.#subscriber.stop();
    this.#state = "closed";
    this.#closed.abort();
    for (const waiter of [...this.#waiters]) waiter.reject(closedError());
  }

  /** While the watch is not live, it reads all theses. */
  async #read(signal: AbortSignal): Promise<void> {
    if (this.#state !== "live") await this.#readPages({}, signal);
    else await this.#readChanges(signal);
  }

  /**
   * Reads the open theses, those that were unsettled, and those after the newest one of the chain at
   * the read before, which may be settled already. It begins at the oldest one that can have changed:
   * reading all of a long chain again for every watch would keep the node busy.
   */
  async #readChanges(signal: AbortSignal): Promise<void> {
    const { node } = this.#context;
    const known = this.theses;
    const newestReadId = this.#newestReadId;
    const oldestOpen = known.find(({ status }) => status === "open");
    let found: Set<number> | undefined;
    if (newestReadId === undefined) found = await this.#readPages({ status: "open" }, signal);
    else if (oldestOpen !== undefined) {
      const cursor = `${oldestOpen.id - 1}`;
      found = await this.#readPages({ status: "open", cursor }, signal);
    }
    if (signal.aborted) return;
    await this.#readPages({ cursor: (newestReadId ?? known.at(-1)?.id)?.toString() }, signal);
    for (const { id, status } of known) {
      if (signal.aborted) return;
      if (found?.has(id) || !isUnsettled(status)) continue;
      const thesis = await node.getThesis(id);
      if (thesis !== null && !signal.aborted) this.#onRead(thesis);
    }
  }

  /** Reads the pages of a filter. @returns The ids of the theses. */
  async #readPages(filter: ThesisFilter, signal: AbortSignal): Promise<Set<number>> {
    const { node } = this.#context;
    const found = new Set<number>();
    let pages = 0;
    const party = { ...this.#party, ...filter, limit: THESES_PER_PAGE };
    const read = (cursor = filter.cursor) => node.getTheses({ ...party, cursor });
    for await (const { theses, nextCursor, lastId } of readPages(read)) {
      if (signal.aborted) break;
      if (nextCursor === null && filter.status === undefined) this.#onLastId(lastId);
      this.#mostPages = Math.max(this.#mostPages, pages += 1);
      for (const thesis of theses) {
        if (signal.aborted) break; // a handler may close the watch
        found.add(thesis.id);
        this.#onRead(thesis);
      }
    }
    return found;
  }

  #onLastId(lastId: number | undefined): void {
    this.#newestReadId = lastId;
    if (lastId !== undefined) this.#known.dropAfter(lastId, this.#context.clock.now());
  }

  #onRead(thesis: Thesis): void {
    if (this.#known.addRead(thesis, this.#context.clock.now())) this.#report(thesis);
  }

  #onNotification(thesis: Thesis): void {
    if (this.#known.addNotified(thesis, this.#context.clock.now())) this.#report(thesis);
  }

  #report(thesis: Thesis): void {
    for (const waiter of this.#waiters) waiter.notify(thesis);
    this.#handlers.onThesis?.(thesis);
  }

  #setState(state: WatchState, reason?: string): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#handlers.onState?.(state, reason);
  }
}

const closedError = () => new WatchError("WATCH_CLOSED", "The watch was closed");
