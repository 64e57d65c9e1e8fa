import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import type { Hub } from "../hub/hub.ts";
import type { UpstreamPort } from "../hub/subscribe_calls.ts";
import type { Head, ReadNode } from "./read_node.ts";
import type { ReadNodes } from "./read_nodes.ts";

/** Interval at which every node is asked for its head. */
export const ROUND_MS = 1_000;

interface ProbeRoundsOptions {
  nodes: ReadNodes;
  clock: Clock;
  /** How long `newHeads` may be silent, in milliseconds. */
  silenceMs: number;
  /** Whether it follows `newHeads` of the node that it is connected to. */
  hub: Pick<Hub, "followsHeads">;
  /** Asks a node for its head and reports the outcome; never rejects. */
  probe: (node: ReadNode) => Promise<Head | undefined>;
}

/**
 * Asks read nodes for their heads, once a round and all at the same moment. A single node cannot be
 * compared with others, so it is asked only while it should announce heads and does not. If a
 * node's head advances for two rounds but nothing is announced, its socket is replaced. An idle
 * chain does not count.
 */
export class ProbeRounds {
  readonly #options: ProbeRoundsOptions;
  /** The hub's last connection. */
  #connected: { node: ReadNode; upstream: Pick<UpstreamPort, "drop"> } | undefined;
  /** The newest block announced on this connection; before that, the first block that was read. */
  #announced: number | undefined;
  #announcedAtMs = 0;
  /** Whether the chain was ahead of the announcements in the last round. */
  #wasAheadLastRound = false;
  #cancel: CancelTimer | undefined;
  #isStopped = false;

  constructor(options: ProbeRoundsOptions) {
    this.#options = options;
  }

  start(): void {
    this.onHead(undefined);
    this.#startRound();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  /** The hub has a new connection, to which earlier announcements do not apply. */
  onConnected(node: ReadNode, upstream: Pick<UpstreamPort, "drop">): void {
    this.#connected = { node, upstream };
    this.#announced = undefined;
    this.onHead(undefined);
  }

  /** A head was announced; one in an unknown form is still a sign of life. */
  onHead(head: Head | undefined): void {
    this.#announcedAtMs = this.#options.clock.now();
    this.#wasAheadLastRound = false;
    if (head !== undefined) this.#announced = head.number;
  }

  get #silentMs(): number {
    return this.#options.clock.now() - this.#announcedAtMs;
  }

  /** The node that should announce heads and does not. */
  get #silentNode(): ReadNode | undefined {
    const { silenceMs, hub } = this.#options;
    return this.#silentMs >= silenceMs && hub.followsHeads ? this.#connected?.node : undefined;
  }

  #startRound(): void {
    const { nodes, clock, probe } = this.#options;
    const startedAtMs = clock.now();
    const silent = this.#silentNode;
    const isGroup = nodes.hasSeveral;
    const due = nodes.all
      .filter((node) => node.isProbeDue(startedAtMs) && (isGroup || node === silent));
    Promise.all(due.map(probe)).then((heads) => {
      if (this.#isStopped) return;
      if (isGroup) nodes.endRound();
      // The node may have announced a head meanwhile, or the hub may follow another node.
      const isStillSilent = silent !== undefined && silent === this.#silentNode;
      const head = isStillSilent ? heads[due.indexOf(silent)] : undefined;
      if (head !== undefined) this.#dropIfStalled(head);
      const leftMs = Math.max(0, startedAtMs + ROUND_MS - clock.now());
      this.#cancel = clock.after(leftMs, () => this.#startRound());
    });
  }

  #dropIfStalled({ number }: Head): void {
    this.#announced ??= number;
    const isAhead = number > this.#announced;
    if (isAhead && this.#wasAheadLastRound) {
      this.#connected?.upstream.drop(
        `no new head for ${Math.round(this.#silentMs)} ms while the chain advanced`,
      );
    }
    this.#wasAheadLastRound = isAhead;
  }
}
