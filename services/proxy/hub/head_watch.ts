import { getLogger } from "@logtape/logtape";
import { z } from "zod";
import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import { NEW_HEADS_KEY } from "./subscription_request.ts";

const log = getLogger([LOG_ROOT, "proxy"]);

/** How long a head that is out already may take to be notified. */
const CONFIRM_MS = 1_000;

/** A number as Ethereum writes it. */
export const quantitySchema = z.string().regex(/^0x[0-9a-fA-F]{1,16}$/).transform(BigInt);
const headNoticeSchema = z.object({
  params: z.object({ result: z.object({ number: quantitySchema }) }),
});

/** What a {@link HeadWatch} works with. */
export interface HeadWatchOptions {
  clock: Clock;
  /** How long `newHeads` may bring nothing before the head is asked for, in milliseconds. */
  silenceMs: number;
  /** Whether a subscription with this key stands at the node. */
  isLive: (key: string) => boolean;
  /** The newest block number, asked for another way than over the socket that is watched. */
  readHead: () => Promise<bigint>;
  /** Gives up the connection. */
  drop: (reason: string) => void;
}

/**
 * Finds out a node that is connected but says nothing. Only `newHeads` is known to tick, so while a
 * client is subscribed to it and no head comes, the chain's head is read over HTTP: if it moved on
 * without a notification, the connection is dropped and made again. A chain that rests is left alone.
 */
export class HeadWatch {
  readonly #options: HeadWatchOptions;
  /** The newest block known to have been announced, or read when watching began. */
  #known: bigint | undefined;
  #heardAtMs = 0;
  /** Time of the last head when the chain was first seen to be ahead of it. */
  #suspectSinceMs: number | undefined;
  #cancel: CancelTimer | undefined;
  #stopped = false;

  constructor(options: HeadWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.restart();
    this.#cancel = this.#checkAfter(this.#options.silenceMs);
  }

  /** A connection was made: what the node before it announced says nothing about this one. */
  restart(): void {
    this.#known = this.#suspectSinceMs = undefined;
    this.#heardAtMs = this.#options.clock.now();
  }

  /** A notification of a subscription came: `frame` is what the node sent, parsed. */
  noticed(key: string, frame: unknown): void {
    if (key !== NEW_HEADS_KEY) return;
    this.#heardAtMs = this.#options.clock.now();
    const parsed = headNoticeSchema.safeParse(frame);
    // A head of an unusual form is a sign of life all the same.
    if (parsed.success) this.#known = parsed.data.params.result.number;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #checkAfter(delayMs: number): CancelTimer {
    return this.#options.clock.after(delayMs, () => {
      this.#check().catch((error: unknown) => {
        log.debug("Head of the read node could not be read: {error}", { error: messageOf(error) });
      }).finally(() => {
        if (this.#stopped) return;
        const waitMs = this.#suspectSinceMs === undefined ? this.#options.silenceMs : CONFIRM_MS;
        this.#cancel = this.#checkAfter(waitMs);
      });
    });
  }

  async #check(): Promise<void> {
    const { clock, silenceMs, isLive, readHead, drop } = this.#options;
    const suspectSinceMs = this.#suspectSinceMs;
    this.#suspectSinceMs = undefined;
    const heardAtMs = this.#heardAtMs;
    const silentMs = clock.now() - heardAtMs;
    if (silentMs < silenceMs || !isLive(NEW_HEADS_KEY)) return;
    if (suspectSinceMs === heardAtMs) {
      drop(`no new head for ${silentMs} ms while the chain went on`);
      return;
    }
    const head = await readHead();
    if (this.#heardAtMs !== heardAtMs) return;
    if (this.#known === undefined) this.#known = head;
    else if (head > this.#known) this.#suspectSinceMs = heardAtMs;
  }
}
