import { z } from "zod";
import { Backoff } from "./backoff.ts";
import type { Clock, RandomSource } from "../clock.ts";
import type { CoreClient } from "./core_client.ts";
import { messageOf, RangemakerError } from "../errors.ts";
import type { Address } from "../protocol/scalars.ts";
import { type Thesis, thesisSchema } from "../protocol/thesis.ts";
import { ReconnectingSocket } from "./reconnecting_socket.ts";

/** What a {@link ThesisFeed} works with. */
export interface ThesisFeedOptions {
  /** JSON-RPC over WebSocket: the proxy's `/ws`, or a node. */
  url: string;
  /** Reads what happened while there was no connection. */
  node: Pick<CoreClient, "getTheses">;
  user: Address;
  clock: Clock;
  /** Jitter of the waits before connecting again. */
  random: RandomSource;
}

/** A thesis was not as expected in time, or the feed was closed first. */
export class ThesisFeedError extends RangemakerError {
  constructor(message: string, cause?: unknown) {
    super("THESIS_FEED", message, { cause });
  }
}

const RECONNECT = { initialMs: 100, maxMs: 10_000 };
const PAGE = 100;

const acceptedSchema = z.object({ id: z.literal(1), result: z.string() });
const noticeSchema = z.object({
  method: z.literal("eth_subscription"),
  params: z.object({ result: thesisSchema }),
});

interface Waiter {
  fits: (thesis: Thesis) => boolean;
  resolve: (thesis: Thesis) => void;
  reject: (reason: ThesisFeedError) => void;
}

/**
 * The theses of one user as they change. After each loss of the connection it subscribes again and
 * reads what it may have missed, so that no outcome goes unseen.
 */
export class ThesisFeed {
  readonly #options: ThesisFeedOptions;
  readonly #socket: ReconnectingSocket;
  /** Newest state of each thesis: as many as the user has. */
  readonly #latest = new Map<number, Thesis>();
  readonly #waiters = new Set<Waiter>();
  readonly #opened = Promise.withResolvers<void>();
  #lastFailure: string | undefined;

  constructor(options: ThesisFeedOptions) {
    this.#options = options;
    this.#socket = new ReconnectingSocket({
      url: options.url,
      clock: options.clock,
      backoff: new Backoff({ ...RECONNECT, random: options.random }),
      handlers: {
        onOpen: () => this.#subscribe(),
        onText: (text) => this.#received(text),
        onDown: (reason) => this.#lastFailure = reason,
      },
    });
    // Whoever does not wait for it has nothing to handle.
    this.#opened.promise.catch(() => {});
  }

  /**
   * Connects; resolves when the feed is subscribed for the first time.
   *
   * @throws {ThesisFeedError} After `timeoutMs`, with the reason of the last failure; it keeps trying.
   */
  async open(timeoutMs: number): Promise<void> {
    this.#socket.start();
    const cancel = this.#options.clock.after(timeoutMs, () => {
      const { url } = this.#options;
      const reason = this.#lastFailure ?? "no answer";
      this.#opened.reject(new ThesisFeedError(`No subscription at ${url}: ${reason}`));
    });
    try {
      await this.#opened.promise;
    } finally {
      cancel();
    }
  }

  /**
   * The first state of a thesis that fits, from its newest known one on.
   *
   * @throws {ThesisFeedError} After `timeoutMs`, or when the feed is closed.
   */
  until(fits: (thesis: Thesis) => boolean, timeoutMs: number): Promise<Thesis> {
    for (const thesis of this.#latest.values()) {
      if (fits(thesis)) return Promise.resolve(thesis);
    }
    const { promise, resolve, reject } = Promise.withResolvers<Thesis>();
    const waiter: Waiter = { fits, resolve, reject };
    this.#waiters.add(waiter);
    const cancel = this.#options.clock.after(timeoutMs, () => {
      reject(new ThesisFeedError(`No such news of a thesis within ${timeoutMs} ms`));
    });
    return promise.finally(() => {
      cancel();
      this.#waiters.delete(waiter);
    });
  }

  /** Ends the feed; what still waits on it fails. */
  close(): void {
    this.#socket.stop();
    const closed = new ThesisFeedError("The feed was closed");
    this.#opened.reject(closed);
    for (const waiter of this.#waiters) waiter.reject(closed);
  }

  #subscribe(): void {
    this.#socket.send(JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "eth_subscribe",
      params: ["theses", { user: this.#options.user }],
    }));
  }

  #received(text: string): void {
    const frame = parseFrame(text);
    const notice = noticeSchema.safeParse(frame);
    if (notice.success) return this.#update(notice.data.params.result);
    if (!acceptedSchema.safeParse(frame).success) {
      return this.#socket.drop(`unexpected answer: ${text.slice(0, 200)}`);
    }
    this.#catchUp().then(
      () => this.#opened.resolve(),
      (thrown) => this.#socket.drop(`theses could not be read: ${messageOf(thrown)}`),
    );
  }

  async #catchUp(): Promise<void> {
    let cursor: string | undefined;
    do {
      const page = await this.#options.node.getTheses({
        user: this.#options.user,
        limit: PAGE,
        ...(cursor !== undefined && { cursor }),
      });
      // A notification that came meanwhile is newer than what was read.
      for (const thesis of page.theses) {
        if (!isNewer(this.#latest.get(thesis.id), thesis)) this.#update(thesis);
      }
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  #update(thesis: Thesis): void {
    this.#latest.set(thesis.id, thesis);
    for (const waiter of this.#waiters) {
      if (waiter.fits(thesis)) waiter.resolve(thesis);
    }
  }
}

/** A settled thesis never changes again, so it is newer than any other state. */
function isNewer(known: Thesis | undefined, read: Thesis): boolean {
  return known?.settledAt !== undefined && read.settledAt === undefined;
}

function parseFrame(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // refused by the schemas, and told with its text
  }
}
