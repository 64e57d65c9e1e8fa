import type { Clock } from "../../../lib/clock.ts";
import type { RandomSource } from "../../../lib/random.ts";
import {
  faultOf,
  type Head,
  isFarAbove,
  type OtherHeads,
  ReadNode,
  type ReadNodeEndpoint,
} from "./read_node.ts";

/** Consecutive failed probes before a node is marked dead; one refused connection is enough. */
export const FAILURES_MAX = 3;

/**
 * How long another node's repeated or lower heads are dropped, unless all nodes went back; then
 * clients follow its chain.
 */
const DUPLICATE_HEADS_MS = 120_000;

export interface ReadNodesOptions {
  /** At least one. */
  endpoints: readonly ReadNodeEndpoint[];
  /** How many blocks a node may be behind. */
  maxLag: number;
  /** Measures durations: it must not jump. */
  clock: Clock;
  /** Is compared with the times of blocks. */
  unixClock: Clock;
  /** Varies the waits before a dead node is probed again. */
  random: RandomSource;
  /** Called when another node becomes the leader, with the reason against the one before. */
  onLeaderChange?: (leader: ReadNode, reason: string, before: ReadNode) => void;
  /** Called when a node is removed from the read group, with the reason, or added, without one. */
  onMembershipChange?: (node: ReadNode, reason: string | undefined) => void;
}

/**
 * Decides which read node serves; there may be one or several. One node of the read group leads:
 * reads go to it and the hub follows it, so that a client can read the block that it was just
 * notified of. A leader that is removed is replaced by the first of the list that serves.
 * This class does no I/O: its owner reports events, and asks every node for its head once a round.
 */
export class ReadNodes {
  readonly #options: ReadNodesOptions;
  readonly all: readonly ReadNode[];
  #leader: ReadNode;
  /** The node that announced the last head. */
  #announcer: ReadNode | undefined;
  /** The number of the last head that clients got. */
  #shownNumber = -1;
  /** Until then, heads up to that number are duplicates: another node has announced them. */
  #duplicatesUntilMs = 0;

  constructor(options: ReadNodesOptions) {
    this.#options = options;
    this.all = options.endpoints
      .map((endpoint, index) => new ReadNode(endpoint, index, options.random));
    const [first] = this.all;
    if (first === undefined) throw new RangeError("There must be a read node");
    this.#leader = first;
  }

  get leader(): ReadNode {
    return this.#leader;
  }

  get hasSeveral(): boolean {
    return this.all.length > 1;
  }

  /** Whether at least one node of the read group responds. */
  get isAnyAlive(): boolean {
    return this.all.some(({ isUp }) => isUp);
  }

  /**
   * Another node, for a read that one could not answer: one that has those blocks of the read that
   * exist.
   */
  findOtherNode(failed: ReadNode, blocks: readonly number[] = []): ReadNode | undefined {
    const required = this.highestKnown(blocks);
    return this.all.find((node) => node !== failed && node.serves(required));
  }

  /**
   * Picks the node for reading blocks: the leader if it has those that exist, otherwise another node
   * that has them.
   *
   * @returns Undefined if one of them exists only on nodes that are removed or dead.
   */
  findNodeForBlocks(blocks: readonly number[]): ReadNode | undefined {
    const { leader } = this;
    if (!this.hasSeveral) return leader;
    const required = this.highestKnown(blocks);
    if (required === undefined || leader.serves(required)) return leader;
    return this.findOtherNode(leader, blocks);
  }

  /** The highest of some blocks that any node has, even if it does not serve. */
  highestKnown(blocks: readonly number[]): number | undefined {
    const known = blocks.filter((block) => this.all.some((node) => node.has(block)));
    return known.length === 0 ? undefined : Math.max(...known);
  }

  /**
   * A node announced a block.
   *
   * @returns Whether clients get it: not if it is implausibly far ahead, or if they got it from
   *   another node. A node may announce a number again after a reorganisation.
   */
  onHead(node: ReadNode, head: Head): boolean {
    const nowMs = this.#options.clock.now();
    if (this.#isFarAbove(node, head)) return false;
    // A lower one is late, or its chain went back: of several nodes, the next probe shows that.
    const isLower = node.has(head.number + 1);
    if (!isLower || !this.hasSeveral) node.setHead(head, nowMs);
    if (node !== this.#announcer) this.#duplicatesUntilMs = nowMs + DUPLICATE_HEADS_MS;
    this.#announcer = node;
    // If every node is known to be below the last one that clients got, the chain went back.
    const mayRepeat = this.all.some((node) => !node.head || node.has(this.#shownNumber));
    const isRepeated = head.number <= this.#shownNumber && mayRepeat;
    if (isRepeated && nowMs < this.#duplicatesUntilMs) return false;
    this.#duplicatesUntilMs = 0;
    this.#shownNumber = head.number;
    return true;
  }

  /** A node answered with its newest block. */
  onProbeAnswered(node: ReadNode, head: Head, probeMs: number): void {
    node.onProbeAnswered(head, probeMs);
    if (!this.#isFarAbove(node, head)) node.setHead(head, this.#options.clock.now(), probeMs);
    // A dead leader that was the last to serve leads until another node answers.
    this.#replaceLeader();
  }

  onProbeFailed(node: ReadNode, reason: string): void {
    const failures = node.countFailedProbe();
    // A single node is probed only if it is silent; its timing shows in its reads.
    if (this.hasSeveral && failures >= FAILURES_MAX) this.onProbeRefused(node, reason);
  }

  onProbeRefused(node: ReadNode, reason: string): void {
    node.postponeProbe(this.#options.clock.now());
    this.onDied(node, reason);
  }

  /** Counts a read. It failed if the node returned an internal error or dropped the request. */
  countRead(node: ReadNode, outcome: { isFailed: boolean }): void {
    node.countRead(outcome);
    if (!outcome.isFailed) this.#onConnected(node);
  }

  /** The WebSocket to a node is open. */
  onSocketOpened(node: ReadNode): void {
    node.onSocketOpened();
    this.#onConnected(node);
  }

  /** Marks a node dead: it refused or closed a connection, or stopped answering. */
  onDied(node: ReadNode, reason: string): void {
    node.isDead = true;
    this.#remove(node, reason);
    if (node === this.#leader) this.#replaceLeader(reason);
  }

  /**
   * The WebSocket of a node is lost, or was refused. It counts as dead, unless no other node serves
   * whose own WebSocket may be tried: then its probes decide, since it may still answer over HTTP.
   */
  onSocketLost(node: ReadNode, reason: string): void {
    const nowMs = this.#options.clock.now();
    const mayReplace = (other: ReadNode) => other !== node && other.mayConnect(nowMs);
    if (this.hasSeveral && !this.all.some(mayReplace)) return;
    node.postponeSocket(nowMs);
    this.onDied(node, reason);
  }

  /** Ends a probe round: every probe was answered or timed out. Applies lag and error limits. */
  endRound(): void {
    const faults = new Map<ReadNode, string>();
    for (const node of this.all) {
      const { head, reads, errors } = node.round;
      if (head === undefined) continue; // it did not answer, which shows nothing
      const others = this.#headsBeside(node);
      const fault = faultOf({ head, reads, errors }, others, this.#limits);
      if (!node.countRound({ isFaulty: fault !== undefined })) continue;
      if (fault !== undefined) faults.set(node, fault);
      else this.#add(node);
    }
    const leader = this.#leader;
    const leaderFault = faults.get(leader);
    faults.delete(leader);
    for (const [node, fault] of faults) this.#remove(node, fault);
    // At the end: if all nodes have a fault, the leader stays.
    if (leaderFault !== undefined) this.#remove(leader, leaderFault);
    this.#replaceLeader();
    for (const node of this.all) node.endRound(this.#options.clock.now());
  }

  get #limits() {
    const { maxLag, unixClock } = this.#options;
    return { maxLag, nowMs: unixClock.now() };
  }

  #isFarAbove(node: ReadNode, head: Head): boolean {
    return isFarAbove(head, this.#headsBeside(node).newest, this.#limits);
  }

  /** The heads with which that of a node is compared. */
  #headsBeside(node: ReadNode): OtherHeads {
    const others = this.all.filter((other) => other !== node && other.isUp);
    return {
      lastRound: others.flatMap(({ headLastRound }) => headLastRound ?? []),
      newest: others.flatMap(({ round, headLastRound }) => round.head ?? headLastRound ?? []),
    };
  }

  /** A node responds: it has accepted a connection. Of several, only probes show that one is back. */
  #onConnected(node: ReadNode): void {
    if (!this.hasSeveral) node.isDead = false;
  }

  #add(node: ReadNode): void {
    node.setRemoved(undefined);
    this.#options.onMembershipChange?.(node, undefined);
  }

  /** Removes a node from the read group, unless no other node serves. */
  #remove(node: ReadNode, reason: string): void {
    const isLast = !this.all.some((other) => other !== node && other.isUp);
    if (isLast || node.isRemoved) return;
    node.setRemoved(reason);
    this.#options.onMembershipChange?.(node, reason);
  }

  /** Replaces a leader that does not serve, if another node answers. */
  #replaceLeader(reason = this.#leader.downReason ?? ""): void {
    const leader = this.#leader;
    if (leader.isUp) return;
    const nowMs = this.#options.clock.now();
    const next = this.all.find((node) => node.mayConnect(nowMs)) ??
      this.all.find(({ isUp }) => isUp) ?? this.#highestAnswering();
    if (next === undefined) return;
    // It may be behind, but no better node is available.
    if (!next.isUp) this.#add(next);
    this.#leader = next;
    this.#options.onLeaderChange?.(next, reason, leader);
    this.#remove(leader, reason);
  }

  #highestAnswering(): ReadNode | undefined {
    const heightOf = ({ head }: ReadNode) => head?.number ?? -1;
    return this.all.filter(({ isDead }) => !isDead)
      .toSorted((a, b) => heightOf(b) - heightOf(a))[0];
  }
}
