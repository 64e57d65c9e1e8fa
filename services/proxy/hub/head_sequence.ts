import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/http/logging.ts";
import type { Head } from "../read_nodes/read_node.ts";
import { headOf } from "./head_watch.ts";
import type { SharedSubscription } from "./hub_client.ts";

const log = serviceLog("proxy");

/** How long a node may be behind the clients' head; after that its chain counts as another one. */
export const BEHIND_MS = 120_000;

/** Blocks requested at once to fill a gap, and the number of requests; fewer if some are missing. */
export const FILL = { blocks: 64, times: 16, shortTimes: 3 };

/** Most heads that wait until a gap is filled; with more, the gap stays. */
const HELD_MAX = 1_024;

/** Members of a block that its head does not have. */
const BODY = ["transactions", "uncles", "withdrawals", "size", "totalDifficulty"];

/** A block as returned by `eth_getBlockByNumber`. */
export type Block = Readonly<Record<string, unknown>>;

/** Options of a {@link HeadSequence}. */
export interface HeadSequenceOptions {
  clock: Clock;
  /** Reads the blocks from one number to another from the hub's node, in order. */
  blocks: (from: number, to: number) => Promise<readonly Block[]>;
  /** Heads were sent outside the handling of a frame. */
  sent: () => void;
}

/** A notification of a head. */
interface HeadNotice {
  number: number;
  text: string;
}

/** The heads of one subscription. */
interface Line {
  subscription: SharedSubscription;
  /** Sends a notification to the clients. */
  send: (text: string) => void;
  /** Number of the newest head sent to clients. */
  last: number;
  /** Until when lower heads are dropped; undefined once the present node is ahead. */
  behindUntilMs: number | undefined;
  /** Heads that arrived while a gap is being filled. */
  held: HeadNotice[] | undefined;
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
  readonly #lines = new WeakMap<SharedSubscription, Line>();

  constructor(options: HeadSequenceOptions) {
    this.#options = options;
  }

  /** A subscription is live on a new connection. */
  resumed(subscription: SharedSubscription): void {
    const line = this.#lines.get(subscription);
    if (line === undefined) return;
    line.epoch += 1;
    line.behindUntilMs = this.#options.clock.now() + BEHIND_MS;
    void this.#fill(line, []);
  }

  /** Handles a head: sends its text now, later or, if clients have seen a later one, never. */
  take(
    subscription: SharedSubscription,
    announced: Head | undefined,
    text: string,
    send: (text: string) => void,
  ): void {
    if (announced === undefined) return send(text);
    const { number } = announced;
    const line = this.#lines.get(subscription);
    if (line === undefined) {
      const isNew = { behindUntilMs: undefined, held: undefined, epoch: 0 };
      this.#lines.set(subscription, { subscription, send, last: number, ...isNew });
      return send(text);
    }
    const head = { number, text };
    if (line.held === undefined) this.#pass(line, head, true);
    else {
      line.held.push(head);
      if (line.held.length > HELD_MAX) this.#release(line);
    }
  }

  #pass(line: Line, head: HeadNotice, mayFill: boolean): void {
    const { number, text } = head;
    if (line.behindUntilMs !== undefined) {
      if (number <= line.last && this.#options.clock.now() < line.behindUntilMs) return;
      if (number > line.last + 1 && mayFill) {
        void this.#fill(line, [head]);
        return;
      }
      line.behindUntilMs = undefined;
    }
    line.last = number;
    line.send(text);
  }

  /** Fetches the heads after the last one, while new ones wait. */
  async #fill(line: Line, held: HeadNotice[]): Promise<void> {
    line.held = held;
    const { epoch } = line;
    try {
      for (let time = 0; time < FILL.times; time += 1) {
        const [from, to] = [line.last + 1, line.last + FILL.blocks];
        const blocks = await this.#options.blocks(from, to);
        if (line.epoch !== epoch) return; // the next connection fills the gap
        for (const block of blocks) this.#sendBlock(line, block);
        if (line.last === to) continue;
        // A node may announce a block a moment before it answers with it.
        const isShort = held[0] !== undefined && held[0].number > line.last + 1;
        if (!isShort || time >= FILL.shortTimes) break;
      }
    } catch (error) {
      log.warn("Heads missed while the read nodes changed could not be read: {reason}", {
        reason: messageOf(error),
      });
    }
    if (line.epoch === epoch) this.#release(line);
  }

  #release(line: Line): void {
    const { held = [] } = line;
    line.epoch += 1;
    line.held = undefined;
    for (const head of held) this.#pass(line, head, false);
    this.#options.sent();
  }

  #sendBlock(line: Line, block: Block): void {
    const number = headOf(block)?.number;
    if (number !== line.last + 1) return;
    line.last = number;
    const head = Object.entries(block).filter(([name]) => !BODY.includes(name));
    const params = {
      subscription: line.subscription.publicId,
      result: Object.fromEntries(head),
    };
    line.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
  }
}
