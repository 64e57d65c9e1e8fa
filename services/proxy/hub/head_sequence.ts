import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { type Head, headOf } from "../node/head.ts";
import type { HubSubscription } from "./hub_client.ts";

const log = serviceLog("proxy");

/** How long a node may be behind the clients' head; after that its chain counts as another one. */
export const BEHIND_MS = 120_000;

/** Blocks requested at once to fill a gap, and the number of requests; fewer if some are missing. */
export const FILL = { blocks: 64, times: 16, shortTimes: 3 };

/** Most heads that wait until a gap is filled; with more, the gap stays. */
const WAITING_MAX = 1_024;

/** Members of a block that its head does not have. */
const BODY = ["transactions", "uncles", "withdrawals", "size", "totalDifficulty"];

/** A block as returned by `eth_getBlockByNumber`. */
export type Block = Readonly<Record<string, unknown>>;

export interface HeadSequenceOptions {
  clock: Clock;
  /** Reads the blocks from one number to another from the hub's node, in order. */
  blocks: (from: number, to: number) => Promise<readonly Block[]>;
}

/** A notification of a head. */
interface HeadNotice {
  number: number;
  text: string;
}

/** The heads of one subscription. */
interface HeadStream {
  subscription: HubSubscription;
  /** Sends a notification to the clients. */
  send: (text: string) => void;
  /** Number of the newest head sent to clients. */
  last: number;
  /** Until when lower heads are dropped; undefined once the present node is ahead. */
  behindUntilMs: number | undefined;
  /** Heads that arrived while a gap is being filled. */
  waiting: HeadNotice[] | undefined;
  /** Changes with every connection. */
  epoch: number;
}

/**
 * Keeps `newHeads` in sequence when the hub moves to another node: heads that were announced meanwhile
 * are fetched by number, and those that clients have seen are dropped. On one connection all heads
 * pass unchanged, because a node that reorganises its chain may announce a number again.
 */
export class HeadSequence {
  readonly #options: HeadSequenceOptions;
  readonly #streams = new WeakMap<HubSubscription, HeadStream>();

  constructor(options: HeadSequenceOptions) {
    this.#options = options;
  }

  /** A subscription is live on a new connection. */
  resumed(subscription: HubSubscription): void {
    const stream = this.#streams.get(subscription);
    if (stream === undefined) return;
    stream.epoch += 1;
    stream.behindUntilMs = this.#options.clock.now() + BEHIND_MS;
    void this.#fill(stream, []);
  }

  /** Handles a head: sends its text now, later or, if clients have seen a later one, never. */
  forward(
    subscription: HubSubscription,
    announced: Head | undefined,
    text: string,
    send: (text: string) => void,
  ): void {
    if (announced === undefined) return send(text);
    const { number } = announced;
    const stream = this.#streams.get(subscription);
    if (stream === undefined) {
      this.#streams.set(subscription, {
        subscription,
        send,
        last: number,
        behindUntilMs: undefined,
        waiting: undefined,
        epoch: 0,
      });
      return send(text);
    }
    const head = { number, text };
    if (stream.waiting === undefined) this.#pass(stream, head);
    else {
      stream.waiting.push(head);
      if (stream.waiting.length > WAITING_MAX) this.#release(stream);
    }
  }

  #pass(stream: HeadStream, head: HeadNotice, { fillsGaps } = { fillsGaps: true }): void {
    const { number, text } = head;
    if (stream.behindUntilMs !== undefined) {
      if (number <= stream.last && this.#options.clock.now() < stream.behindUntilMs) return;
      if (number > stream.last + 1 && fillsGaps) {
        void this.#fill(stream, [head]);
        return;
      }
      stream.behindUntilMs = undefined;
    }
    stream.last = number;
    stream.send(text);
  }

  /** Fetches the heads after the last one, while new ones wait. */
  async #fill(stream: HeadStream, waiting: HeadNotice[]): Promise<void> {
    stream.waiting = waiting;
    const { epoch } = stream;
    try {
      for (let time = 0; time < FILL.times; time += 1) {
        const [from, to] = [stream.last + 1, stream.last + FILL.blocks];
        const blocks = await this.#options.blocks(from, to);
        if (stream.epoch !== epoch) return; // the next connection fills the gap
        for (const block of blocks) this.#sendBlock(stream, block);
        if (stream.last === to) continue;
        // A node may announce a block a moment before it answers with it.
        const isShort = waiting[0] !== undefined && waiting[0].number > stream.last + 1;
        if (!isShort || time >= FILL.shortTimes) break;
      }
    } catch (error) {
      log.warn("Heads missed while the read nodes changed could not be read: {reason}", {
        reason: messageOf(error),
      });
    }
    if (stream.epoch === epoch) this.#release(stream);
  }

  #release(stream: HeadStream): void {
    const { waiting = [] } = stream;
    stream.epoch += 1;
    stream.waiting = undefined;
    for (const head of waiting) this.#pass(stream, head, { fillsGaps: false });
  }

  #sendBlock(stream: HeadStream, block: Block): void {
    const number = headOf(block)?.number;
    if (number !== stream.last + 1) return;
    stream.last = number;
    const head = Object.entries(block).filter(([name]) => !BODY.includes(name));
    const params = {
      subscription: stream.subscription.publicId,
      result: Object.fromEntries(head),
    };
    stream.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
  }
}
